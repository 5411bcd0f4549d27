-- The provider plane's tables. Times are unix seconds. Used by node:sqlite and by `wrangler d1 migrations`.

CREATE TABLE workspaces (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  key_hash TEXT NOT NULL UNIQUE,
  created_at INTEGER NOT NULL
);

CREATE TABLE nodes (
  id TEXT PRIMARY KEY,
  workspace_id TEXT NOT NULL REFERENCES workspaces (id),
  name TEXT NOT NULL,
  token_hash TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL DEFAULT 'ws',
  role TEXT NOT NULL DEFAULT 'broker',
  version TEXT,
  status TEXT NOT NULL DEFAULT 'offline',
  max_agents INTEGER NOT NULL DEFAULT 0,
  active_agents INTEGER NOT NULL DEFAULT 0,
  handlers_live INTEGER NOT NULL DEFAULT 0,
  load REAL,
  tags TEXT NOT NULL DEFAULT '[]',
  last_heartbeat_at INTEGER,
  created_at INTEGER NOT NULL,
  UNIQUE (workspace_id, name)
);

CREATE TABLE node_providers (
  id TEXT PRIMARY KEY,
  workspace_id TEXT NOT NULL REFERENCES workspaces (id),
  node_id TEXT NOT NULL REFERENCES nodes (id),
  name TEXT NOT NULL,
  instance_id TEXT NOT NULL,
  capabilities TEXT NOT NULL DEFAULT '[]',
  status TEXT NOT NULL DEFAULT 'offline',
  handlers_live INTEGER NOT NULL DEFAULT 0,
  load REAL,
  active_agents INTEGER NOT NULL DEFAULT 0,
  last_heartbeat_at INTEGER,
  created_at INTEGER NOT NULL,
  UNIQUE (workspace_id, node_id, name)
);

CREATE TABLE agents (
  id TEXT PRIMARY KEY,
  workspace_id TEXT NOT NULL REFERENCES workspaces (id),
  name TEXT NOT NULL,
  type TEXT NOT NULL DEFAULT 'agent',
  metadata TEXT NOT NULL DEFAULT '{}',
  token_hash TEXT NOT NULL UNIQUE,
  status TEXT NOT NULL DEFAULT 'offline',
  location_type TEXT NOT NULL DEFAULT 'self_connected',
  location_node_id TEXT REFERENCES nodes (id),
  provider_name TEXT NOT NULL DEFAULT 'default',
  origin_node_id TEXT,
  session_ref TEXT,
  invocation_id TEXT,
  resumable INTEGER NOT NULL DEFAULT 0,
  delivery_ack_seq INTEGER NOT NULL DEFAULT 0,
  delivery_seq INTEGER NOT NULL DEFAULT 0,
  skipped_seqs INTEGER NOT NULL DEFAULT 0,
  released_at INTEGER,
  last_seen_at INTEGER,
  created_at INTEGER NOT NULL
);
CREATE UNIQUE INDEX agents_by_live_name ON agents (workspace_id, name) WHERE released_at IS NULL;
CREATE INDEX agents_by_provider ON agents (location_node_id, provider_name) WHERE released_at IS NULL;

CREATE TABLE agent_node_bindings (
  id TEXT PRIMARY KEY,
  workspace_id TEXT NOT NULL,
  agent_id TEXT NOT NULL REFERENCES agents (id),
  node_id TEXT NOT NULL REFERENCES nodes (id),
  status TEXT NOT NULL DEFAULT 'active',
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (agent_id, node_id)
);

CREATE TABLE channels (
  id TEXT PRIMARY KEY,
  workspace_id TEXT NOT NULL REFERENCES workspaces (id),
  name TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  UNIQUE (workspace_id, name)
);

CREATE TABLE channel_members (
  channel_id TEXT NOT NULL REFERENCES channels (id),
  agent_id TEXT NOT NULL REFERENCES agents (id),
  muted INTEGER NOT NULL DEFAULT 0,
  joined_at INTEGER NOT NULL,
  PRIMARY KEY (channel_id, agent_id)
);
CREATE INDEX channel_members_by_agent ON channel_members (agent_id);

CREATE TABLE messages (
  id TEXT PRIMARY KEY,
  workspace_id TEXT NOT NULL REFERENCES workspaces (id),
  channel_id TEXT REFERENCES channels (id),
  sender_id TEXT,
  type TEXT NOT NULL,
  data TEXT NOT NULL,
  idempotency_key TEXT,
  created_at INTEGER NOT NULL
);
CREATE UNIQUE INDEX messages_by_key ON messages (workspace_id, idempotency_key) WHERE idempotency_key IS NOT NULL;

CREATE TABLE deliveries (
  id TEXT PRIMARY KEY,
  workspace_id TEXT NOT NULL REFERENCES workspaces (id),
  message_id TEXT NOT NULL REFERENCES messages (id),
  agent_id TEXT NOT NULL REFERENCES agents (id),
  seq INTEGER NOT NULL,
  status TEXT NOT NULL DEFAULT 'queued',
  mode TEXT NOT NULL DEFAULT 'wait',
  expires_at INTEGER,
  next_attempt_at INTEGER,
  dispatch_attempts INTEGER NOT NULL DEFAULT 0,
  last_dispatch_error TEXT,
  created_at INTEGER NOT NULL,
  delivered_at INTEGER,
  acked_at INTEGER,
  dead_lettered_at INTEGER,
  UNIQUE (message_id, agent_id),
  UNIQUE (workspace_id, agent_id, seq)
);
CREATE INDEX deliveries_active ON deliveries (agent_id, seq) WHERE status IN ('queued', 'delivered');

CREATE TABLE actions (
  workspace_id TEXT NOT NULL,
  node_id TEXT NOT NULL REFERENCES nodes (id),
  name TEXT NOT NULL,
  provider_name TEXT NOT NULL,
  kind TEXT NOT NULL,
  global INTEGER NOT NULL DEFAULT 0,
  metadata TEXT NOT NULL DEFAULT '{}',
  PRIMARY KEY (workspace_id, node_id, name)
);

CREATE TABLE action_invocations (
  id TEXT PRIMARY KEY,
  workspace_id TEXT NOT NULL REFERENCES workspaces (id),
  node_id TEXT NOT NULL REFERENCES nodes (id),
  provider_name TEXT NOT NULL,
  action TEXT NOT NULL,
  input TEXT NOT NULL DEFAULT 'null',
  agent_id TEXT,
  agent_name TEXT,
  status TEXT NOT NULL DEFAULT 'pending',
  dispatched_provider TEXT,
  attempts INTEGER NOT NULL DEFAULT 0,
  output TEXT,
  error TEXT,
  created_at INTEGER NOT NULL,
  dispatched_at INTEGER,
  completed_at INTEGER
);
CREATE INDEX action_invocations_open ON action_invocations (node_id, provider_name) WHERE status IN ('pending', 'dispatched');

CREATE TABLE workspace_events (
  id TEXT PRIMARY KEY,
  workspace_id TEXT NOT NULL,
  type TEXT NOT NULL,
  subject TEXT NOT NULL,
  detail TEXT NOT NULL DEFAULT '{}',
  created_at INTEGER NOT NULL
);
CREATE INDEX workspace_events_by_time ON workspace_events (workspace_id, created_at);

CREATE TABLE repair_audit (
  id TEXT PRIMARY KEY,
  run_id TEXT NOT NULL,
  step TEXT NOT NULL,
  snapshot_id TEXT,
  approved_as TEXT,
  rows_changed INTEGER NOT NULL DEFAULT 0,
  detail TEXT NOT NULL DEFAULT '{}',
  created_at INTEGER NOT NULL
);
