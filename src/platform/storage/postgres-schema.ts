// The tables of the platform in PostgreSQL. Times are Unix milliseconds. Each entry runs once, in order; append, never edit. Text is
// compared byte by byte, as SQLite does, so that a list has one order everywhere.

export const postgresMigrations: readonly string[] = [
  `
CREATE TABLE organizations (
  id TEXT COLLATE "C" PRIMARY KEY,
  slug TEXT COLLATE "C" NOT NULL UNIQUE,
  running_limit BIGINT,
  warm_limit BIGINT,
  created_at BIGINT NOT NULL
);

CREATE TABLE sprites (
  id TEXT COLLATE "C" PRIMARY KEY,
  organization_id TEXT COLLATE "C" NOT NULL REFERENCES organizations (id),
  name TEXT COLLATE "C" NOT NULL,
  labels TEXT NOT NULL,
  url_settings TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  last_running_at BIGINT,
  last_warming_at BIGINT,
  UNIQUE (organization_id, name)
);

CREATE TABLE tokens (
  id TEXT COLLATE "C" PRIMARY KEY,
  lookup BYTEA NOT NULL,
  hash BYTEA NOT NULL UNIQUE,
  organization_id TEXT COLLATE "C" NOT NULL REFERENCES organizations (id),
  sprite_id TEXT COLLATE "C" REFERENCES sprites (id) ON DELETE CASCADE,
  machine_id TEXT COLLATE "C",
  name TEXT,
  user_id TEXT,
  access TEXT NOT NULL DEFAULT 'full',
  created_at BIGINT NOT NULL,
  expires_at BIGINT
);
CREATE INDEX tokens_by_lookup ON tokens (lookup);
CREATE INDEX tokens_by_sprite ON tokens (sprite_id);
CREATE INDEX tokens_by_machine ON tokens (machine_id);
CREATE INDEX tokens_by_organization ON tokens (organization_id);

CREATE TABLE connectors (
  id TEXT COLLATE "C" PRIMARY KEY,
  organization_id TEXT COLLATE "C" NOT NULL REFERENCES organizations (id),
  provider TEXT COLLATE "C" NOT NULL,
  provider_account_id TEXT NOT NULL,
  provider_account_name TEXT,
  connection_type TEXT NOT NULL,
  base_api_url TEXT,
  access_policy TEXT,
  key_id TEXT COLLATE "C" NOT NULL,
  data_key BYTEA NOT NULL,
  secret BYTEA NOT NULL,
  scopes TEXT,
  token_expires_at BIGINT,
  authorization_ended_at BIGINT,
  user_id TEXT,
  credential_version BIGINT NOT NULL DEFAULT 1,
  inserted_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
);
CREATE INDEX connectors_by_organization ON connectors (organization_id, provider, id);
CREATE INDEX connectors_by_key ON connectors (key_id, id);

CREATE TABLE machines (
  id TEXT COLLATE "C" PRIMARY KEY,
  app TEXT NOT NULL,
  organization_id TEXT COLLATE "C" NOT NULL REFERENCES organizations (id),
  sprite_id TEXT COLLATE "C" NOT NULL UNIQUE REFERENCES sprites (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  region TEXT NOT NULL,
  private_ip TEXT NOT NULL,
  config TEXT NOT NULL,
  state TEXT COLLATE "C" NOT NULL,
  instance_id TEXT NOT NULL,
  last_exit TEXT,
  role TEXT,
  generation BIGINT,
  incarnation TEXT,
  agent_version TEXT,
  host TEXT COLLATE "C",
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
);
CREATE INDEX machines_by_organization ON machines (organization_id, state);

CREATE TABLE port_notices (
  sequence BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  sprite_id TEXT COLLATE "C" NOT NULL REFERENCES sprites (id) ON DELETE CASCADE,
  id TEXT COLLATE "C" NOT NULL,
  type TEXT NOT NULL,
  port BIGINT NOT NULL,
  address TEXT NOT NULL,
  pid BIGINT NOT NULL,
  time TEXT NOT NULL,
  UNIQUE (sprite_id, id)
);
CREATE INDEX port_notices_by_sequence ON port_notices (sprite_id, sequence);

CREATE TABLE sprite_ports (
  sprite_id TEXT COLLATE "C" NOT NULL REFERENCES sprites (id) ON DELETE CASCADE,
  port BIGINT NOT NULL,
  address TEXT NOT NULL,
  pid BIGINT NOT NULL,
  time TEXT NOT NULL,
  PRIMARY KEY (sprite_id, port)
);

CREATE TABLE oauth_states (
  lookup BYTEA PRIMARY KEY,
  organization_id TEXT COLLATE "C" NOT NULL REFERENCES organizations (id),
  provider TEXT NOT NULL,
  redirect_uri TEXT NOT NULL,
  scopes TEXT NOT NULL,
  key_id TEXT COLLATE "C" NOT NULL,
  data_key BYTEA NOT NULL,
  secret BYTEA NOT NULL,
  expires_at BIGINT NOT NULL
);
CREATE INDEX oauth_states_by_expiry ON oauth_states (expires_at);
CREATE INDEX oauth_states_by_organization ON oauth_states (organization_id);

CREATE TABLE running_keys (
  host TEXT COLLATE "C" NOT NULL,
  key_id TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (host, key_id)
);
`,
  `
CREATE TABLE gateway_usage (
  organization_id TEXT COLLATE "C" NOT NULL REFERENCES organizations (id),
  day TEXT COLLATE "C" NOT NULL,
  connector_id TEXT COLLATE "C" NOT NULL,
  sprite TEXT COLLATE "C" NOT NULL,
  provider TEXT NOT NULL,
  calls BIGINT NOT NULL,
  refused BIGINT NOT NULL,
  request_bytes BIGINT NOT NULL,
  response_bytes BIGINT NOT NULL,
  input_tokens BIGINT NOT NULL,
  output_tokens BIGINT NOT NULL,
  PRIMARY KEY (organization_id, day, connector_id, sprite)
);
`,
  `
-- What was begun before was closed for less than what is asked now; it would have expired within ten minutes.
DELETE FROM oauth_states;
ALTER TABLE oauth_states ADD COLUMN token_id TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE connectors ADD COLUMN token_lifetime_ms BIGINT;
`,
  `
ALTER TABLE machines ADD COLUMN wanted TEXT NOT NULL DEFAULT 'stopped';
ALTER TABLE machines ADD COLUMN config_updated_at BIGINT NOT NULL DEFAULT 0;
UPDATE machines SET config_updated_at = updated_at;
UPDATE machines SET wanted = 'running' WHERE state IN ('starting', 'running', 'suspending', 'suspended');
`,
  `
ALTER TABLE machines ADD COLUMN life_nonces TEXT;
ALTER TABLE machines ADD COLUMN adopting BIGINT NOT NULL DEFAULT 0;
ALTER TABLE machines ADD COLUMN taken_over_at BIGINT;
`,
  `
ALTER TABLE connectors ADD COLUMN name TEXT COLLATE "C";
CREATE UNIQUE INDEX connectors_by_name ON connectors (organization_id, name);
`,
  `
-- Seals of the first form, which are accepted once: later ones are not in this list.
CREATE TABLE unbound_seals (
  connector_id TEXT COLLATE "C" PRIMARY KEY REFERENCES connectors (id) ON DELETE CASCADE
);
INSERT INTO unbound_seals (connector_id) SELECT id FROM connectors WHERE substr(data_key, 1, 1) = decode('01', 'hex');
`,
  `
CREATE TABLE apps (
  name TEXT COLLATE "C" PRIMARY KEY,
  organization_id TEXT COLLATE "C" NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  created_at BIGINT NOT NULL
);
CREATE INDEX apps_by_organization ON apps (organization_id);
CREATE INDEX machines_by_app ON machines (organization_id, app);
INSERT INTO apps (name, organization_id, created_at) SELECT slug, id, created_at FROM organizations;
`,
  `
CREATE TABLE hosts (
  host TEXT COLLATE "C" PRIMARY KEY,
  address TEXT,
  version TEXT NOT NULL,
  seen_at BIGINT NOT NULL
);
CREATE TABLE channels (
  machine_id TEXT COLLATE "C" PRIMARY KEY REFERENCES machines (id) ON DELETE CASCADE,
  host TEXT COLLATE "C" NOT NULL,
  id TEXT COLLATE "C" NOT NULL,
  generation BIGINT NOT NULL
);
`,
  `
ALTER TABLE organizations ADD COLUMN creation_limit BIGINT;
ALTER TABLE organizations ADD COLUMN creations BIGINT NOT NULL DEFAULT 0;
ALTER TABLE organizations ADD COLUMN creations_since BIGINT NOT NULL DEFAULT 0;
`,
  `
ALTER TABLE sprites ADD COLUMN machine_only BIGINT NOT NULL DEFAULT 0;
ALTER TABLE machines ADD COLUMN version TEXT NOT NULL DEFAULT '';
ALTER TABLE machines ADD COLUMN booted BIGINT NOT NULL DEFAULT 1;
ALTER TABLE machines ADD COLUMN cordoned BIGINT NOT NULL DEFAULT 0;
ALTER TABLE machines ADD COLUMN lease_nonce TEXT;
ALTER TABLE machines ADD COLUMN lease_owner TEXT;
ALTER TABLE machines ADD COLUMN lease_description TEXT;
ALTER TABLE machines ADD COLUMN lease_expires_at BIGINT;
CREATE TABLE machine_versions (
  machine_id TEXT COLLATE "C" NOT NULL REFERENCES machines (id) ON DELETE CASCADE,
  version TEXT COLLATE "C" NOT NULL,
  config TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (machine_id, version)
);
CREATE TABLE destroyed_machines (
  id TEXT COLLATE "C" PRIMARY KEY,
  organization_id TEXT COLLATE "C" NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  app TEXT COLLATE "C" NOT NULL,
  record TEXT NOT NULL,
  destroyed_at BIGINT NOT NULL
);
CREATE INDEX destroyed_machines_by_app ON destroyed_machines (organization_id, app, id);
CREATE TABLE volumes (
  id TEXT COLLATE "C" PRIMARY KEY,
  organization_id TEXT COLLATE "C" NOT NULL REFERENCES organizations (id),
  app TEXT COLLATE "C" NOT NULL,
  name TEXT NOT NULL,
  region TEXT NOT NULL,
  size_gb BIGINT NOT NULL,
  state TEXT NOT NULL,
  host TEXT,
  machine_id TEXT COLLATE "C" REFERENCES machines (id) ON DELETE SET NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
);
CREATE INDEX volumes_by_app ON volumes (organization_id, app, id);
CREATE INDEX volumes_by_machine ON volumes (machine_id);
`,
  `
ALTER TABLE machines ADD COLUMN discarded TEXT;
ALTER TABLE machines ADD COLUMN boot_cause TEXT;
ALTER TABLE machines ADD COLUMN restart_count BIGINT NOT NULL DEFAULT 0;
ALTER TABLE machines ADD COLUMN started_at BIGINT;
ALTER TABLE machines ADD COLUMN event_number BIGINT NOT NULL DEFAULT 0;
CREATE TABLE machine_events (
  machine_id TEXT COLLATE "C" NOT NULL REFERENCES machines (id) ON DELETE CASCADE,
  number BIGINT NOT NULL,
  event TEXT NOT NULL,
  PRIMARY KEY (machine_id, number)
);
`,
  `
ALTER TABLE machines ADD COLUMN state_since BIGINT NOT NULL DEFAULT 0;
UPDATE machines SET state_since = updated_at;
CREATE TABLE drained_hosts (host TEXT COLLATE "C" PRIMARY KEY, drained_at BIGINT NOT NULL);
`,
  `
ALTER TABLE hosts ADD COLUMN boot_id TEXT;
ALTER TABLE hosts ADD COLUMN total_mb BIGINT;
ALTER TABLE hosts ADD COLUMN resident_mb BIGINT;
`,
  `
ALTER TABLE machines ADD COLUMN restored BIGINT NOT NULL DEFAULT 0;
`,
  `
ALTER TABLE volumes ADD COLUMN sized_at BIGINT NOT NULL DEFAULT 0;
CREATE TABLE machine_usage (
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  day TEXT COLLATE "C" NOT NULL,
  app TEXT COLLATE "C" NOT NULL,
  state TEXT COLLATE "C" NOT NULL,
  ms BIGINT NOT NULL,
  PRIMARY KEY (organization_id, day, app, state)
);
CREATE TABLE volume_usage (
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  day TEXT COLLATE "C" NOT NULL,
  app TEXT COLLATE "C" NOT NULL,
  gb_ms BIGINT NOT NULL,
  PRIMARY KEY (organization_id, day, app)
);
`,
  `
CREATE TABLE users (
  id TEXT COLLATE "C" PRIMARY KEY,
  name TEXT NOT NULL,
  email TEXT NOT NULL,
  email_key TEXT COLLATE "C" NOT NULL UNIQUE,
  email_alias TEXT COLLATE "C" NOT NULL UNIQUE,
  password_hash TEXT NOT NULL,
  created_at BIGINT NOT NULL
);
CREATE TABLE members (
  organization_id TEXT COLLATE "C" NOT NULL REFERENCES organizations (id),
  user_id TEXT COLLATE "C" NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  role TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (organization_id, user_id)
);
CREATE INDEX members_by_user ON members (user_id);
CREATE TABLE organization_aliases (
  organization_id TEXT COLLATE "C" PRIMARY KEY REFERENCES organizations (id),
  alias TEXT COLLATE "C" NOT NULL UNIQUE
);
CREATE TABLE alias_domain (only_row BIGINT PRIMARY KEY, domain TEXT NOT NULL);
`,
  `
CREATE TABLE extension_providers (
  name TEXT COLLATE "C" PRIMARY KEY,
  base_url TEXT NOT NULL,
  redirect_uris TEXT NOT NULL,
  app TEXT COLLATE "C" REFERENCES apps (name) ON DELETE SET NULL,
  region_aware BIGINT NOT NULL,
  official BIGINT NOT NULL,
  latency_sensitive BIGINT NOT NULL,
  events TEXT NOT NULL,
  client_id TEXT COLLATE "C" NOT NULL UNIQUE,
  created_at BIGINT NOT NULL
);
CREATE INDEX extension_providers_by_app ON extension_providers (app);
CREATE TABLE extension_provider_secrets (
  id TEXT COLLATE "C" PRIMARY KEY,
  provider TEXT COLLATE "C" NOT NULL REFERENCES extension_providers (name) ON DELETE CASCADE,
  kind TEXT COLLATE "C" NOT NULL,
  key_id TEXT COLLATE "C" NOT NULL,
  data_key BYTEA NOT NULL,
  secret BYTEA NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT
);
CREATE INDEX extension_provider_secrets_by_provider ON extension_provider_secrets (provider, kind);
`,
  `
CREATE TABLE app_secrets (
  app TEXT COLLATE "C" NOT NULL REFERENCES apps (name) ON DELETE CASCADE,
  name TEXT COLLATE "C" NOT NULL,
  id TEXT COLLATE "C" NOT NULL UNIQUE,
  organization_id TEXT COLLATE "C" NOT NULL,
  owner_kind TEXT NOT NULL,
  owner_id TEXT COLLATE "C" NOT NULL,
  key_id TEXT COLLATE "C" NOT NULL,
  data_key BYTEA NOT NULL,
  secret BYTEA NOT NULL,
  digest TEXT NOT NULL,
  set_at BIGINT NOT NULL,
  PRIMARY KEY (app, name)
);
CREATE INDEX app_secrets_by_owner ON app_secrets (owner_id, owner_kind);
CREATE INDEX app_secrets_by_key ON app_secrets (key_id, id);
`,
  `
CREATE TABLE provider_notices (
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  provider TEXT COLLATE "C" NOT NULL REFERENCES extension_providers (name) ON DELETE CASCADE,
  stream TEXT COLLATE "C" NOT NULL,
  event_id TEXT NOT NULL,
  source TEXT NOT NULL,
  type TEXT NOT NULL,
  body TEXT NOT NULL,
  attempts BIGINT NOT NULL DEFAULT 0,
  created_at BIGINT NOT NULL,
  next_at BIGINT NOT NULL
);
CREATE INDEX provider_notices_by_stream ON provider_notices (provider, stream, id);
CREATE INDEX provider_notices_by_time ON provider_notices (provider, next_at);
CREATE INDEX provider_notices_by_provider ON provider_notices (provider, id);
CREATE TABLE notice_totals (
  provider TEXT COLLATE "C" PRIMARY KEY REFERENCES extension_providers (name) ON DELETE CASCADE,
  delivered BIGINT NOT NULL DEFAULT 0,
  dead BIGINT NOT NULL DEFAULT 0,
  dropped BIGINT NOT NULL DEFAULT 0,
  last_error TEXT,
  last_error_at BIGINT,
  paused_until BIGINT NOT NULL DEFAULT 0
);
`,
  `
CREATE TABLE sign_on_sessions (
  hash TEXT COLLATE "C" PRIMARY KEY,
  user_id TEXT COLLATE "C" NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  created_at BIGINT NOT NULL
);
CREATE INDEX sign_on_sessions_by_user ON sign_on_sessions (user_id);
CREATE INDEX sign_on_sessions_by_age ON sign_on_sessions (created_at);
CREATE TABLE sign_in_failures (
  email_hash TEXT COLLATE "C" PRIMARY KEY,
  count BIGINT NOT NULL,
  last_at BIGINT NOT NULL
);
CREATE INDEX sign_in_failures_by_age ON sign_in_failures (last_at);
CREATE TABLE sign_on_consents (
  user_id TEXT COLLATE "C" NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  provider TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (user_id, provider)
);
CREATE TABLE sign_ons (
  id TEXT COLLATE "C" PRIMARY KEY,
  code_hash TEXT COLLATE "C" NOT NULL UNIQUE,
  client_id TEXT COLLATE "C" NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  organization_id TEXT COLLATE "C",
  redirect_uri TEXT NOT NULL,
  code_challenge TEXT,
  created_at BIGINT NOT NULL,
  exchanged_at BIGINT,
  expires_at BIGINT NOT NULL,
  FOREIGN KEY (organization_id, user_id) REFERENCES members (organization_id, user_id) ON DELETE CASCADE
);
CREATE INDEX sign_ons_by_user ON sign_ons (user_id);
CREATE INDEX sign_ons_by_age ON sign_ons (expires_at);
CREATE TABLE sign_on_tokens (
  access_hash TEXT COLLATE "C" PRIMARY KEY,
  refresh_hash TEXT COLLATE "C" NOT NULL UNIQUE,
  sign_on_id TEXT COLLATE "C" NOT NULL REFERENCES sign_ons (id) ON DELETE CASCADE,
  created_at BIGINT NOT NULL,
  access_expires_at BIGINT NOT NULL,
  refresh_expires_at BIGINT NOT NULL,
  refreshed_at BIGINT
);
CREATE INDEX sign_on_tokens_by_sign_on ON sign_on_tokens (sign_on_id);
CREATE INDEX sign_on_tokens_by_age ON sign_on_tokens (refresh_expires_at);
`,
  `
ALTER TABLE organizations ADD COLUMN display_name TEXT;
CREATE TABLE extensions (
  id TEXT COLLATE "C" PRIMARY KEY,
  organization_id TEXT COLLATE "C" NOT NULL,
  provider TEXT COLLATE "C" NOT NULL REFERENCES extension_providers (name),
  name TEXT COLLATE "C" NOT NULL,
  provider_id TEXT COLLATE "C",
  app TEXT COLLATE "C" REFERENCES apps (name) ON DELETE SET NULL,
  user_id TEXT COLLATE "C",
  user_email TEXT NOT NULL,
  user_role TEXT NOT NULL,
  primary_region TEXT,
  read_regions TEXT NOT NULL,
  platform_app_name TEXT,
  unrequested BIGINT NOT NULL,
  state TEXT COLLATE "C" NOT NULL,
  status TEXT,
  plan TEXT,
  resource TEXT,
  variables TEXT NOT NULL,
  key_id TEXT COLLATE "C",
  data_key BYTEA,
  secret BYTEA,
  error_code TEXT,
  error_message TEXT,
  error_at BIGINT,
  step TEXT COLLATE "C",
  due_at BIGINT,
  claim TEXT COLLATE "C",
  claim_until BIGINT,
  asked BIGINT NOT NULL DEFAULT 0,
  tries BIGINT NOT NULL DEFAULT 0,
  revision BIGINT NOT NULL DEFAULT 0,
  told_revision BIGINT NOT NULL DEFAULT 0,
  begun_at BIGINT NOT NULL,
  trouble_since BIGINT,
  told_at BIGINT NOT NULL DEFAULT 0,
  heard_at BIGINT NOT NULL DEFAULT 0,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX extensions_by_name ON extensions (name) WHERE state <> 'deleted';
CREATE UNIQUE INDEX extensions_by_provider_id ON extensions (provider, provider_id) WHERE provider_id IS NOT NULL AND state <> 'deleted';
CREATE INDEX extensions_by_organization ON extensions (organization_id, created_at, id) WHERE state <> 'deleted';
CREATE INDEX extensions_due ON extensions (due_at) WHERE step IS NOT NULL;
CREATE INDEX extensions_by_provider ON extensions (provider, organization_id);
CREATE INDEX extensions_by_app ON extensions (app);
CREATE INDEX extensions_by_key ON extensions (key_id, id);
CREATE TABLE extension_webhooks (
  provider TEXT COLLATE "C" NOT NULL REFERENCES extension_providers (name) ON DELETE CASCADE,
  digest BYTEA NOT NULL,
  received_at BIGINT NOT NULL,
  told_at BIGINT NOT NULL,
  action TEXT NOT NULL,
  resource_id TEXT NOT NULL,
  extension_id TEXT,
  outcome TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (provider, digest)
);
CREATE INDEX extension_webhooks_by_time ON extension_webhooks (provider, outcome, received_at);
`,
  `
ALTER TABLE extension_providers ADD COLUMN revenue_share_bp BIGINT NOT NULL DEFAULT 0;
CREATE TABLE extension_costs (
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  provider TEXT COLLATE "C" NOT NULL,
  provider_extension_id TEXT COLLATE "C" NOT NULL,
  currency TEXT COLLATE "C" NOT NULL,
  description TEXT COLLATE "C" NOT NULL,
  from_ms BIGINT NOT NULL,
  to_ms BIGINT NOT NULL,
  amount BIGINT NOT NULL,
  share_bp BIGINT NOT NULL,
  share BIGINT NOT NULL,
  held TEXT,
  fetched_at BIGINT NOT NULL,
  extension_id TEXT COLLATE "C",
  organization_id TEXT COLLATE "C",
  organization TEXT COLLATE "C",
  UNIQUE (provider, provider_extension_id, currency, description, from_ms, to_ms)
);
CREATE INDEX extension_costs_by_extension ON extension_costs (extension_id, id);
CREATE INDEX extension_costs_by_time ON extension_costs (from_ms);
CREATE INDEX extension_costs_held ON extension_costs (provider) WHERE held IS NOT NULL;
CREATE TABLE extension_cost_fetches (
  provider TEXT COLLATE "C" PRIMARY KEY REFERENCES extension_providers (name) ON DELETE CASCADE,
  next_at BIGINT NOT NULL,
  asked_until BIGINT NOT NULL DEFAULT 0,
  unsettled_from BIGINT NOT NULL,
  failures BIGINT NOT NULL,
  last_error TEXT,
  last_success_at BIGINT
);
`,
  `
DROP TABLE sign_on_consents;
CREATE TABLE sign_on_consents (
  user_id TEXT COLLATE "C" NOT NULL,
  provider TEXT COLLATE "C" NOT NULL REFERENCES extension_providers (name) ON DELETE CASCADE,
  organization_id TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (user_id, provider, organization_id),
  FOREIGN KEY (organization_id, user_id) REFERENCES members (organization_id, user_id) ON DELETE CASCADE
);
CREATE INDEX sign_on_consents_by_provider ON sign_on_consents (provider, organization_id);
CREATE INDEX sign_on_consents_by_member ON sign_on_consents (organization_id, user_id);
`,
  `
CREATE TABLE idle_rounds (
  app TEXT COLLATE "C" NOT NULL,
  region TEXT COLLATE "C" NOT NULL,
  slept_at BIGINT NOT NULL,
  PRIMARY KEY (app, region)
);
`,
  `
CREATE TABLE network_policies (
  sprite_id TEXT COLLATE "C" PRIMARY KEY REFERENCES sprites (id) ON DELETE CASCADE,
  rules TEXT NOT NULL,
  revision BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
);
`,
  `
CREATE TABLE program_policies (
  sprite_id TEXT COLLATE "C" PRIMARY KEY REFERENCES sprites (id) ON DELETE CASCADE,
  policy TEXT NOT NULL,
  revision BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
);
`,
];
