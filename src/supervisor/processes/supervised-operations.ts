// The process operations that the supervisor serves. A process over plain HTTP is run by the agent over a WebSocket.
import { localProcessOperations } from '../../contract/local/inside.ts';
import { sessionWorkOperations } from '../../contract/local/session-work.ts';

const { execOverHttp: _, ...supervised } = localProcessOperations;

export const supervisedProcessOperations = { ...supervised, ...sessionWorkOperations };
export type SupervisedProcessOperations = typeof supervisedProcessOperations;
