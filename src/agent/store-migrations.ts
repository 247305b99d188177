// The tables of the agent's own database, in the order in which they came.
import { gatewayLogSchema, gatewaySchema, gatewayUsageSchema } from './gateway/gateway-schema.ts';
import { holdsSchema } from './holds/hold-store.ts';
import { portsSchema } from './ports/port-ledger.ts';
import { incarnationNonceSchema, incarnationSchema } from './resume/incarnation-store.ts';

const countersSchema = 'CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID';

/** The migrations of `agent.db`. Appended only: the number of those that ran is stored in the file. */
export const storeMigrations: readonly string[] = [
  countersSchema,
  incarnationSchema,
  gatewaySchema,
  portsSchema,
  holdsSchema,
  gatewayUsageSchema,
  gatewayLogSchema,
  incarnationNonceSchema,
];
