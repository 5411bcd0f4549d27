import { sql } from '../../../src/provider/storage/port.ts';
import type { Site } from './site.ts';

/** Rows for an agent as if their posts had met nobody. */
export async function plantRows(site: Site, agent: string, count: number): Promise<void> {
  const list = JSON.stringify(Array.from({ length: count }, (_, index) => index + 1));
  await site.stage.sql(
    sql(
      `INSERT INTO messages (id, workspace_id, type, data, created_at)
       SELECT ? || value, ?, 'message', '{"channel":"general","from":"bench","text":"planted"}', 1 FROM json_each(?)`,
      `${agent}_m`,
      site.workspace,
      list,
    ),
    sql(
      `INSERT INTO deliveries (id, workspace_id, message_id, agent_id, seq, created_at)
       SELECT ? || value, ?, ? || value, ?, value, 1 FROM json_each(?)`,
      `${agent}_d`,
      site.workspace,
      `${agent}_m`,
      agent,
      list,
    ),
    sql('UPDATE agents SET delivery_seq = ? WHERE id = ?', count, agent),
  );
}
