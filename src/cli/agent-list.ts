/** `cotal agent list`: the lifecycles of the space, as their heads and ACL rows have them. */
import { existsSync } from 'node:fs';
import { listAgents } from '../manager/roster.ts';
import { type Define, examples } from './frame.ts';
import { agentCredsPath, withRights } from './open-mesh.ts';

export const define: Define = (command, frame) => {
  command.action(
    frame.action(async (call) => {
      const { out } = call;
      const place = call.place();
      const agents = await withRights(place, 'manager', ({ connection }) =>
        listAgents({ connection, space: place.space }),
      );
      for (const { principal, ...agent } of agents) {
        const path = agentCredsPath(place, principal);
        const creds = existsSync(path) ? path : null;
        const rights = agent.read === null ? 'read rights unknown' : `reads ${agent.read.join(', ') || 'nothing'}`;
        const colour = agent.state === 'active' ? 'green' : 'dim';
        out.answer(
          { name: principal.slice(principal.indexOf('.') + 1), principal, ...agent, creds },
          `${out.paint('bold', principal)}  ${out.paint(colour, agent.state)}  ${rights}${creds === null ? '  (no credential here)' : ''}`,
        );
      }
      if (agents.length === 0) out.text('no agents; add one with "cotal agent add NAME"');
      return 0;
    }),
  );
  examples(command, 'cotal agent list', 'cotal agent list --json');
};
