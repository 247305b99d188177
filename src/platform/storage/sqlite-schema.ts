// The tables of the platform in SQLite. Times are Unix milliseconds. Each entry runs once, in order; append, never edit.

export const sqliteMigrations: readonly string[] = [
  `
CREATE TABLE organizations (
  id TEXT PRIMARY KEY,
  slug TEXT NOT NULL UNIQUE,
  running_limit INTEGER,
  warm_limit INTEGER,
  created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE sprites (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  name TEXT NOT NULL,
  labels TEXT NOT NULL,
  url_settings TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  last_running_at INTEGER,
  last_warming_at INTEGER,
  UNIQUE (organization_id, name)
) STRICT;

CREATE TABLE tokens (
  id TEXT PRIMARY KEY,
  lookup BLOB NOT NULL,
  hash BLOB NOT NULL UNIQUE,
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  sprite_id TEXT REFERENCES sprites (id) ON DELETE CASCADE,
  machine_id TEXT,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX tokens_by_lookup ON tokens (lookup);
CREATE INDEX tokens_by_sprite ON tokens (sprite_id);

CREATE TABLE connectors (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  provider TEXT NOT NULL,
  provider_account_id TEXT NOT NULL,
  connection_type TEXT NOT NULL,
  base_api_url TEXT,
  access_policy TEXT,
  key_id TEXT NOT NULL,
  data_key BLOB NOT NULL,
  secret BLOB NOT NULL,
  inserted_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX connectors_by_organization ON connectors (organization_id, provider, id);

CREATE TABLE machines (
  id TEXT PRIMARY KEY,
  app TEXT NOT NULL,
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  sprite_id TEXT NOT NULL UNIQUE REFERENCES sprites (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  region TEXT NOT NULL,
  private_ip TEXT NOT NULL,
  config TEXT NOT NULL,
  state TEXT NOT NULL,
  instance_id TEXT NOT NULL,
  last_exit TEXT,
  role TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;

CREATE TABLE port_notices (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  sprite_id TEXT NOT NULL REFERENCES sprites (id) ON DELETE CASCADE,
  id TEXT NOT NULL,
  type TEXT NOT NULL,
  port INTEGER NOT NULL,
  address TEXT NOT NULL,
  pid INTEGER NOT NULL,
  time TEXT NOT NULL,
  UNIQUE (sprite_id, id)
) STRICT;

CREATE TABLE sprite_ports (
  sprite_id TEXT NOT NULL REFERENCES sprites (id) ON DELETE CASCADE,
  port INTEGER NOT NULL,
  address TEXT NOT NULL,
  pid INTEGER NOT NULL,
  time TEXT NOT NULL,
  PRIMARY KEY (sprite_id, port)
) STRICT, WITHOUT ROWID;
`,
  `
ALTER TABLE machines ADD COLUMN generation INTEGER;
ALTER TABLE machines ADD COLUMN incarnation TEXT;
`,
  `
CREATE INDEX machines_by_organization ON machines (organization_id, state);

ALTER TABLE tokens ADD COLUMN name TEXT;
ALTER TABLE tokens ADD COLUMN user_id TEXT;
ALTER TABLE tokens ADD COLUMN access TEXT NOT NULL DEFAULT 'full';
ALTER TABLE tokens ADD COLUMN expires_at INTEGER;

ALTER TABLE connectors ADD COLUMN provider_account_name TEXT;
ALTER TABLE connectors ADD COLUMN scopes TEXT;
ALTER TABLE connectors ADD COLUMN token_expires_at INTEGER;
ALTER TABLE connectors ADD COLUMN authorization_ended_at INTEGER;
ALTER TABLE connectors ADD COLUMN user_id TEXT;
ALTER TABLE connectors ADD COLUMN credential_version INTEGER NOT NULL DEFAULT 1;
CREATE INDEX connectors_by_key ON connectors (key_id, id);

CREATE TABLE oauth_states (
  lookup BLOB PRIMARY KEY,
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  provider TEXT NOT NULL,
  redirect_uri TEXT NOT NULL,
  scopes TEXT NOT NULL,
  key_id TEXT NOT NULL,
  data_key BLOB NOT NULL,
  secret BLOB NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX oauth_states_by_expiry ON oauth_states (expires_at);

CREATE TABLE running_keys (key_id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
`,
  `
ALTER TABLE machines ADD COLUMN agent_version TEXT;
`,
  `
ALTER TABLE machines ADD COLUMN host TEXT;

DROP TABLE running_keys;
CREATE TABLE running_keys (
  host TEXT NOT NULL,
  key_id TEXT NOT NULL,
  PRIMARY KEY (host, key_id)
) STRICT, WITHOUT ROWID;
`,
  `
CREATE TABLE gateway_usage (
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  day TEXT NOT NULL,
  connector_id TEXT NOT NULL,
  sprite TEXT NOT NULL,
  provider TEXT NOT NULL,
  calls INTEGER NOT NULL,
  refused INTEGER NOT NULL,
  request_bytes INTEGER NOT NULL,
  response_bytes INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  PRIMARY KEY (organization_id, day, connector_id, sprite)
) STRICT, WITHOUT ROWID;
`,
  `
-- What was begun before was closed for less than what is asked now; it would have expired within ten minutes.
DELETE FROM oauth_states;
ALTER TABLE oauth_states ADD COLUMN token_id TEXT NOT NULL DEFAULT '';
ALTER TABLE connectors ADD COLUMN token_lifetime_ms INTEGER;
`,
  `
ALTER TABLE machines ADD COLUMN wanted TEXT NOT NULL DEFAULT 'stopped';
ALTER TABLE machines ADD COLUMN config_updated_at INTEGER NOT NULL DEFAULT 0;
UPDATE machines SET config_updated_at = updated_at;
UPDATE machines SET wanted = 'running' WHERE state IN ('starting', 'running', 'suspending', 'suspended');
`,
  `
ALTER TABLE machines ADD COLUMN life_nonces TEXT;
ALTER TABLE machines ADD COLUMN adopting INTEGER NOT NULL DEFAULT 0;
ALTER TABLE machines ADD COLUMN taken_over_at INTEGER;
`,
  `
ALTER TABLE connectors ADD COLUMN name TEXT;
CREATE UNIQUE INDEX connectors_by_name ON connectors (organization_id, name);
`,
  `
-- Seals of the first form, which are accepted once: later ones are not in this list.
CREATE TABLE unbound_seals (
  connector_id TEXT PRIMARY KEY REFERENCES connectors (id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
INSERT INTO unbound_seals (connector_id) SELECT id FROM connectors WHERE substr(data_key, 1, 1) = X'01';
`,
  `
CREATE TABLE apps (
  name TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX apps_by_organization ON apps (organization_id);
CREATE INDEX machines_by_app ON machines (organization_id, app);
INSERT INTO apps (name, organization_id, created_at) SELECT slug, id, created_at FROM organizations;
`,
  `
CREATE TABLE hosts (
  host TEXT PRIMARY KEY,
  address TEXT,
  version TEXT NOT NULL,
  seen_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE channels (
  machine_id TEXT PRIMARY KEY REFERENCES machines (id) ON DELETE CASCADE,
  host TEXT NOT NULL,
  id TEXT NOT NULL,
  generation INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`,
  `
ALTER TABLE organizations ADD COLUMN creation_limit INTEGER;
ALTER TABLE organizations ADD COLUMN creations INTEGER NOT NULL DEFAULT 0;
ALTER TABLE organizations ADD COLUMN creations_since INTEGER NOT NULL DEFAULT 0;
`,
  `
ALTER TABLE sprites ADD COLUMN machine_only INTEGER NOT NULL DEFAULT 0;
ALTER TABLE machines ADD COLUMN version TEXT NOT NULL DEFAULT '';
ALTER TABLE machines ADD COLUMN booted INTEGER NOT NULL DEFAULT 1;
ALTER TABLE machines ADD COLUMN cordoned INTEGER NOT NULL DEFAULT 0;
ALTER TABLE machines ADD COLUMN lease_nonce TEXT;
ALTER TABLE machines ADD COLUMN lease_owner TEXT;
ALTER TABLE machines ADD COLUMN lease_description TEXT;
ALTER TABLE machines ADD COLUMN lease_expires_at INTEGER;
CREATE TABLE machine_versions (
  machine_id TEXT NOT NULL REFERENCES machines (id) ON DELETE CASCADE,
  version TEXT NOT NULL,
  config TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (machine_id, version)
) STRICT, WITHOUT ROWID;
CREATE TABLE destroyed_machines (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  app TEXT NOT NULL,
  record TEXT NOT NULL,
  destroyed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX destroyed_machines_by_app ON destroyed_machines (organization_id, app, id);
CREATE TABLE volumes (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  app TEXT NOT NULL,
  name TEXT NOT NULL,
  region TEXT NOT NULL,
  size_gb INTEGER NOT NULL,
  state TEXT NOT NULL,
  host TEXT,
  machine_id TEXT REFERENCES machines (id) ON DELETE SET NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX volumes_by_app ON volumes (organization_id, app, id);
CREATE INDEX volumes_by_machine ON volumes (machine_id);
`,
  `
ALTER TABLE machines ADD COLUMN discarded TEXT;
ALTER TABLE machines ADD COLUMN boot_cause TEXT;
ALTER TABLE machines ADD COLUMN restart_count INTEGER NOT NULL DEFAULT 0;
ALTER TABLE machines ADD COLUMN started_at INTEGER;
ALTER TABLE machines ADD COLUMN event_number INTEGER NOT NULL DEFAULT 0;
CREATE TABLE machine_events (
  machine_id TEXT NOT NULL REFERENCES machines (id) ON DELETE CASCADE,
  number INTEGER NOT NULL,
  event TEXT NOT NULL,
  PRIMARY KEY (machine_id, number)
) STRICT, WITHOUT ROWID;
`,
  `
ALTER TABLE machines ADD COLUMN state_since INTEGER NOT NULL DEFAULT 0;
UPDATE machines SET state_since = updated_at;
CREATE TABLE drained_hosts (host TEXT PRIMARY KEY, drained_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
`,
  `
ALTER TABLE hosts ADD COLUMN boot_id TEXT;
ALTER TABLE hosts ADD COLUMN total_mb INTEGER;
ALTER TABLE hosts ADD COLUMN resident_mb INTEGER;
`,
  `
ALTER TABLE machines ADD COLUMN restored INTEGER NOT NULL DEFAULT 0;
`,
  `
ALTER TABLE volumes ADD COLUMN sized_at INTEGER NOT NULL DEFAULT 0;
CREATE TABLE machine_usage (
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  day TEXT NOT NULL,
  app TEXT NOT NULL,
  state TEXT NOT NULL,
  ms INTEGER NOT NULL,
  PRIMARY KEY (organization_id, day, app, state)
) STRICT, WITHOUT ROWID;
CREATE TABLE volume_usage (
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  day TEXT NOT NULL,
  app TEXT NOT NULL,
  gb_ms INTEGER NOT NULL,
  PRIMARY KEY (organization_id, day, app)
) STRICT, WITHOUT ROWID;
`,
  `
CREATE TABLE users (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  email TEXT NOT NULL,
  email_key TEXT NOT NULL UNIQUE,
  email_alias TEXT NOT NULL UNIQUE,
  password_hash TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE members (
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  role TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (organization_id, user_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX members_by_user ON members (user_id);
CREATE TABLE organization_aliases (
  organization_id TEXT PRIMARY KEY REFERENCES organizations (id),
  alias TEXT NOT NULL UNIQUE
) STRICT, WITHOUT ROWID;
CREATE TABLE alias_domain (only_row INTEGER PRIMARY KEY, domain TEXT NOT NULL) STRICT;
`,
  `
CREATE TABLE extension_providers (
  name TEXT PRIMARY KEY,
  base_url TEXT NOT NULL,
  redirect_uris TEXT NOT NULL,
  app TEXT REFERENCES apps (name) ON DELETE SET NULL,
  region_aware INTEGER NOT NULL,
  official INTEGER NOT NULL,
  latency_sensitive INTEGER NOT NULL,
  events TEXT NOT NULL,
  client_id TEXT NOT NULL UNIQUE,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX extension_providers_by_app ON extension_providers (app);
CREATE TABLE extension_provider_secrets (
  id TEXT PRIMARY KEY,
  provider TEXT NOT NULL REFERENCES extension_providers (name) ON DELETE CASCADE,
  kind TEXT NOT NULL,
  key_id TEXT NOT NULL,
  data_key BLOB NOT NULL,
  secret BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX extension_provider_secrets_by_provider ON extension_provider_secrets (provider, kind);
`,
  `
CREATE TABLE app_secrets (
  app TEXT NOT NULL REFERENCES apps (name) ON DELETE CASCADE,
  name TEXT NOT NULL,
  id TEXT NOT NULL UNIQUE,
  organization_id TEXT NOT NULL,
  owner_kind TEXT NOT NULL,
  owner_id TEXT NOT NULL,
  key_id TEXT NOT NULL,
  data_key BLOB NOT NULL,
  secret BLOB NOT NULL,
  digest TEXT NOT NULL,
  set_at INTEGER NOT NULL,
  PRIMARY KEY (app, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX app_secrets_by_owner ON app_secrets (owner_id, owner_kind);
CREATE INDEX app_secrets_by_key ON app_secrets (key_id, id);
`,
  `
CREATE TABLE provider_notices (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  provider TEXT NOT NULL REFERENCES extension_providers (name) ON DELETE CASCADE,
  stream TEXT NOT NULL,
  event_id TEXT NOT NULL,
  source TEXT NOT NULL,
  type TEXT NOT NULL,
  body TEXT NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  next_at INTEGER NOT NULL
) STRICT;
CREATE INDEX provider_notices_by_stream ON provider_notices (provider, stream, id);
CREATE INDEX provider_notices_by_time ON provider_notices (provider, next_at);
CREATE INDEX provider_notices_by_provider ON provider_notices (provider, id);
CREATE TABLE notice_totals (
  provider TEXT PRIMARY KEY REFERENCES extension_providers (name) ON DELETE CASCADE,
  delivered INTEGER NOT NULL DEFAULT 0,
  dead INTEGER NOT NULL DEFAULT 0,
  dropped INTEGER NOT NULL DEFAULT 0,
  last_error TEXT,
  last_error_at INTEGER,
  paused_until INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
`,
  `
CREATE TABLE sign_on_sessions (
  hash TEXT PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sign_on_sessions_by_user ON sign_on_sessions (user_id);
CREATE INDEX sign_on_sessions_by_age ON sign_on_sessions (created_at);
CREATE TABLE sign_in_failures (
  email_hash TEXT PRIMARY KEY,
  count INTEGER NOT NULL,
  last_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sign_in_failures_by_age ON sign_in_failures (last_at);
CREATE TABLE sign_on_consents (
  user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  provider TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (user_id, provider)
) STRICT, WITHOUT ROWID;
CREATE TABLE sign_ons (
  id TEXT PRIMARY KEY,
  code_hash TEXT NOT NULL UNIQUE,
  client_id TEXT NOT NULL,
  user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  organization_id TEXT,
  redirect_uri TEXT NOT NULL,
  code_challenge TEXT,
  created_at INTEGER NOT NULL,
  exchanged_at INTEGER,
  expires_at INTEGER NOT NULL,
  FOREIGN KEY (organization_id, user_id) REFERENCES members (organization_id, user_id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX sign_ons_by_user ON sign_ons (user_id);
CREATE INDEX sign_ons_by_age ON sign_ons (expires_at);
CREATE TABLE sign_on_tokens (
  access_hash TEXT PRIMARY KEY,
  refresh_hash TEXT NOT NULL UNIQUE,
  sign_on_id TEXT NOT NULL REFERENCES sign_ons (id) ON DELETE CASCADE,
  created_at INTEGER NOT NULL,
  access_expires_at INTEGER NOT NULL,
  refresh_expires_at INTEGER NOT NULL,
  refreshed_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX sign_on_tokens_by_sign_on ON sign_on_tokens (sign_on_id);
CREATE INDEX sign_on_tokens_by_age ON sign_on_tokens (refresh_expires_at);
`,
  `
ALTER TABLE organizations ADD COLUMN display_name TEXT;
CREATE TABLE extensions (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL,
  provider TEXT NOT NULL REFERENCES extension_providers (name),
  name TEXT NOT NULL,
  provider_id TEXT,
  app TEXT REFERENCES apps (name) ON DELETE SET NULL,
  user_id TEXT,
  user_email TEXT NOT NULL,
  user_role TEXT NOT NULL,
  primary_region TEXT,
  read_regions TEXT NOT NULL,
  platform_app_name TEXT,
  unrequested INTEGER NOT NULL,
  state TEXT NOT NULL,
  status TEXT,
  plan TEXT,
  resource TEXT,
  variables TEXT NOT NULL,
  key_id TEXT,
  data_key BLOB,
  secret BLOB,
  error_code TEXT,
  error_message TEXT,
  error_at INTEGER,
  step TEXT,
  due_at INTEGER,
  claim TEXT,
  claim_until INTEGER,
  asked INTEGER NOT NULL DEFAULT 0,
  tries INTEGER NOT NULL DEFAULT 0,
  revision INTEGER NOT NULL DEFAULT 0,
  told_revision INTEGER NOT NULL DEFAULT 0,
  begun_at INTEGER NOT NULL,
  trouble_since INTEGER,
  told_at INTEGER NOT NULL DEFAULT 0,
  heard_at INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX extensions_by_name ON extensions (name) WHERE state <> 'deleted';
CREATE UNIQUE INDEX extensions_by_provider_id ON extensions (provider, provider_id) WHERE provider_id IS NOT NULL AND state <> 'deleted';
CREATE INDEX extensions_by_organization ON extensions (organization_id, created_at, id) WHERE state <> 'deleted';
CREATE INDEX extensions_due ON extensions (due_at) WHERE step IS NOT NULL;
CREATE INDEX extensions_by_provider ON extensions (provider, organization_id);
CREATE INDEX extensions_by_app ON extensions (app);
CREATE INDEX extensions_by_key ON extensions (key_id, id);
CREATE TABLE extension_webhooks (
  provider TEXT NOT NULL REFERENCES extension_providers (name) ON DELETE CASCADE,
  digest BLOB NOT NULL,
  received_at INTEGER NOT NULL,
  told_at INTEGER NOT NULL,
  action TEXT NOT NULL,
  resource_id TEXT NOT NULL,
  extension_id TEXT,
  outcome TEXT NOT NULL,
  PRIMARY KEY (provider, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX extension_webhooks_by_time ON extension_webhooks (provider, outcome, received_at);
`,
  `
ALTER TABLE extension_providers ADD COLUMN revenue_share_bp INTEGER NOT NULL DEFAULT 0;
CREATE TABLE extension_costs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  provider TEXT NOT NULL,
  provider_extension_id TEXT NOT NULL,
  currency TEXT NOT NULL,
  description TEXT NOT NULL,
  from_ms INTEGER NOT NULL,
  to_ms INTEGER NOT NULL,
  amount INTEGER NOT NULL,
  share_bp INTEGER NOT NULL,
  share INTEGER NOT NULL,
  held TEXT,
  fetched_at INTEGER NOT NULL,
  extension_id TEXT,
  organization_id TEXT,
  organization TEXT,
  UNIQUE (provider, provider_extension_id, currency, description, from_ms, to_ms)
) STRICT;
CREATE INDEX extension_costs_by_extension ON extension_costs (extension_id, id);
CREATE INDEX extension_costs_by_time ON extension_costs (from_ms);
CREATE INDEX extension_costs_held ON extension_costs (provider) WHERE held IS NOT NULL;
CREATE TABLE extension_cost_fetches (
  provider TEXT PRIMARY KEY REFERENCES extension_providers (name) ON DELETE CASCADE,
  next_at INTEGER NOT NULL,
  asked_until INTEGER NOT NULL DEFAULT 0,
  unsettled_from INTEGER NOT NULL,
  failures INTEGER NOT NULL,
  last_error TEXT,
  last_success_at INTEGER
) STRICT, WITHOUT ROWID;
`,
  `
DROP TABLE sign_on_consents;
CREATE TABLE sign_on_consents (
  user_id TEXT NOT NULL,
  provider TEXT NOT NULL REFERENCES extension_providers (name) ON DELETE CASCADE,
  organization_id TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (user_id, provider, organization_id),
  FOREIGN KEY (organization_id, user_id) REFERENCES members (organization_id, user_id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX sign_on_consents_by_provider ON sign_on_consents (provider, organization_id);
CREATE INDEX sign_on_consents_by_member ON sign_on_consents (organization_id, user_id);
`,
  `
CREATE TABLE idle_rounds (
  app TEXT NOT NULL,
  region TEXT NOT NULL,
  slept_at INTEGER NOT NULL,
  PRIMARY KEY (app, region)
) STRICT, WITHOUT ROWID;
`,
  `
CREATE TABLE network_policies (
  sprite_id TEXT PRIMARY KEY REFERENCES sprites (id) ON DELETE CASCADE,
  rules TEXT NOT NULL,
  revision INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`,
  `
CREATE TABLE program_policies (
  sprite_id TEXT PRIMARY KEY REFERENCES sprites (id) ON DELETE CASCADE,
  policy TEXT NOT NULL,
  revision INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`,
];
