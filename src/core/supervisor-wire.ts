// What the agent and its supervisor have to agree on beside the operations: they are two processes, and neither imports the other. Pure.

/** Set by the agent when its caller may act as root, and never passed on from a caller. */
export const AS_ROOT_HEADER = 'remora-as-root';
export const AS_ROOT_ALLOWED = 'allowed';

/** The definitions of the services, below the state directory; there while any is defined. */
export const SERVICES_FILE = 'supervisor/services.json';

/**
 * A file below the state directory: empty while no process of a caller runs, else with the pid of the supervisor. Written with each begin
 * and end of such a process.
 */
export const SESSIONS_FILE = 'supervisor/sessions';

/**
 * A file below the state directory, there while the agent sends the secrets of the app to the supervisor: whether the app had some when the
 * platform said so last. Neither names nor values are in it.
 */
export const APP_SECRETS_FILE = 'supervisor/app-secrets';

/** What holds for the programs that the supervisor starts, as JSON below the state directory; there while something is restricted. */
export const PROGRAM_POLICY_FILE = 'supervisor/program-policy.json';

/** The variable with which a machine boots whose sprite has policies of privileges or resources: their digest. */
export const PROGRAM_POLICY_VARIABLE = 'REMORA_PROGRAM_POLICY';

const appSecretsNotes = ['some', 'none', 'unknown'] as const;
/** What that file says. `unknown`: the platform has not been asked so far. */
export type AppSecretsNote = (typeof appSecretsNotes)[number];

export function isAppSecretsNote(text: string): text is AppSecretsNote {
  return (appSecretsNotes as readonly string[]).includes(text);
}

/** A file below the state directory: which supervisor runs. */
export const SUPERVISOR_FILE = 'supervisor/running.json';

/** What that file says, as JSON. */
export interface SupervisorNote {
  readonly pid: number;
  /** When this process began, which no later one with its pid shares. */
  readonly start_ticks: number;
  readonly version: string;
}

/** What both pass on of their environment to what they start: where this machine is, and no credential. */
export const MACHINE_VARIABLES = [
  'PATH',
  'LANG',
  'LC_ALL',
  'TZ',
  'FLY_APP_NAME',
  'FLY_MACHINE_ID',
  'FLY_MACHINE_VERSION',
  'FLY_REGION',
  'FLY_PRIVATE_IP',
  'FLY_VM_MEMORY_MB',
  'PRIMARY_REGION',
] as const;
