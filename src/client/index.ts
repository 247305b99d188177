// What `remora/client` exports: the typed client for the calls of an agent or of a platform, and the operations that it is made from.
export { agentOperations } from '../contract/agent-operations.ts';
export type { Operation, Operations } from '../contract/operation.ts';
export { platformOperations } from '../contract/platform-operations.ts';
export { type Client, type ClientOptions, createClient, type Requester } from './client.ts';
export { UpstreamError } from './upstream-error.ts';
