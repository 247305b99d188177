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

/** Appended: the tokens that a call used, as the provider counts them. */
export const gatewayUsageSchema = `
ALTER TABLE gateway_log ADD COLUMN input_tokens INTEGER;
ALTER TABLE gateway_log ADD COLUMN output_tokens INTEGER;
`;

/** Appended: the log of calls is in gateway-log.db, which a thread of its own writes. */
export const gatewayLogSchema = 'DROP TABLE gateway_log';

/** Entries are migrations: append, never edit. */
export const auditSchema: readonly string[] = [
  `
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
`,
  `
ALTER TABLE gateway_log ADD COLUMN count INTEGER NOT NULL DEFAULT 1;
ALTER TABLE gateway_log ADD COLUMN budget TEXT NOT NULL DEFAULT 'refused';
UPDATE gateway_log SET budget = CASE decision WHEN 'allow' THEN 'sent' WHEN 'deny' THEN 'blocked' ELSE 'refused' END;
CREATE INDEX gateway_log_by_budget ON gateway_log (budget, seq);
`,
  `
ALTER TABLE gateway_log ADD COLUMN calls INTEGER NOT NULL DEFAULT 1;
ALTER TABLE gateway_log ADD COLUMN block TEXT;
`,
];
