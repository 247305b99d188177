// The tables of the gateway in the agent's database, and of its log in a file of its own. Times are Unix milliseconds.

export const gatewaySchema = `
CREATE TABLE gateway_policy (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  source TEXT NOT NULL,
  fetched_at INTEGER NOT NULL,
  document TEXT NOT NULL
) STRICT;

CREATE TABLE gateway_log (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  time INTEGER NOT NULL,
  provider TEXT NOT NULL,
  connector_id TEXT NOT NULL,
  method TEXT NOT NULL,
  path TEXT NOT NULL,
  decision TEXT NOT NULL,
  code TEXT,
  rule TEXT,
  status INTEGER,
  ended TEXT,
  request_bytes INTEGER NOT NULL,
  response_bytes INTEGER NOT NULL,
  ms INTEGER NOT NULL
) STRICT;

CREATE TABLE gateway_tokens (
  id TEXT PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  connector_id TEXT,
  expires_at INTEGER NOT NULL
) STRICT;
`;

/** Appended: what a provider says of the tokens that a call has used. */
export const gatewayUsageSchema = `
ALTER TABLE gateway_log ADD COLUMN input_tokens INTEGER;
ALTER TABLE gateway_log ADD COLUMN output_tokens INTEGER;
`;

/** Appended: calls are kept in gateway-log.db, by a thread of their own. */
export const gatewayLogSchema = 'DROP TABLE gateway_log';

export const auditSchema = `
CREATE TABLE gateway_log (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  time INTEGER NOT NULL,
  provider TEXT NOT NULL,
  connector_id TEXT NOT NULL,
  method TEXT NOT NULL,
  path TEXT NOT NULL,
  decision TEXT NOT NULL,
  code TEXT,
  rule TEXT,
  status INTEGER,
  ended TEXT,
  request_bytes INTEGER NOT NULL,
  response_bytes INTEGER NOT NULL,
  ms INTEGER NOT NULL,
  input_tokens INTEGER,
  output_tokens INTEGER
) STRICT;
`;
