// What a platform is opened with: by `remora platform`, by `remora dev` and by tests.
import type { Clock } from '../core/clock.ts';
import type { Log } from '../core/log.ts';
import type { Secret } from '../core/secret.ts';
import type { NewCatalogueEntry } from './catalogue/catalogue-entry.ts';
import type { OAuthClient } from './connectors/oauth/oauth-client.ts';
import type { StepTimes } from './extensions/step-times.ts';
import type { GatewayLimits } from './gateway/gateway-limits.ts';
import type { IdleSettings } from './idle/idle-settings.ts';
import type { MachineRateOptions } from './machines/access/machine-rates.ts';
import type { MachineDriver, MachineNetwork } from './machines/drivers/machine-driver.ts';
import type { AgentCommand } from './machines/drivers/process/spawn-machine.ts';
import type { QemuSettings } from './machines/drivers/qemu/qemu-settings.ts';
import type { MailOptions } from './mail/mail-options.ts';
import type { MetricsAccess } from './observability/metrics-listener.ts';
import type { ProxyOptions } from './proxy/proxy-options.ts';
import type { OpenIdSettings } from './sign-on/upstream/open-id-issuer.ts';
import type { Rate } from './tokens/call-rate.ts';
import type { WrongTokenRates } from './tokens/wrong-tokens.ts';
import type { Resolve } from './upstream/guarded-connector.ts';
import type { PasswordCost } from './users/passwords.ts';

export interface PlatformOptions {
  /** Holds `platform.db` and a directory for each machine. One platform at a time. Machines get it as an absolute path. */
  readonly dir: string;
  /** `postgres://…`, for several platforms on one database; `platform.db` when absent. */
  readonly database?: Secret;
  /** 32 bytes each, as 64 hex digits or base64. The first closes new credentials, the others only open old ones. */
  readonly keys: readonly Secret[];
  /** Port 0 takes a free one. */
  readonly listen: { readonly host: string; readonly port: number };
  /** Where callers reach this platform; from the listener when absent. */
  readonly publicUrl?: string;
  /** Where the other platform processes on the database reach this one: an origin. */
  readonly hostAddress?: string;
  /** What a machine runs. Without it no machine starts. */
  readonly agentCommand?: AgentCommand;
  /** Machines are virtual machines, as these settings say; processes of this host when absent. */
  readonly qemu?: QemuSettings;
  /** What runs the machines in place of a driver of this folder, for tests. It gets what makes the token of a machine. */
  readonly driver?: (createToken: (machine_id: string) => Promise<Secret>) => MachineDriver;
  /** The address of the database node, handed to machines. */
  readonly nodeUrl?: string;
  /** The networks of machines in which private addresses are listened at; those that the driver makes when absent. */
  readonly privateNetworks?: () => readonly MachineNetwork[];
  /** The proxy in front, which serves the URLs of sprites and apps; nothing serves them when absent. */
  readonly proxy?: ProxyOptions;
  /** Providers besides the built-in ones, or in their place. */
  readonly catalogue?: readonly NewCatalogueEntry[];
  /** End the machines when the platform is closed or its process exits; they go on when absent, and the next platform finds them. */
  readonly endMachines?: boolean;
  /** Let the organization's tokens reach into machines that share kernel and files with the platform; off when absent. */
  readonly trustMachines?: boolean;
  /** How long a started machine has until the first report of its agent; 30 s when absent; for virtual machines a minute, and five where the processor is emulated. */
  readonly startDeadline_ms?: number;
  /** How long the snapshot of a suspended machine is kept; for ever when absent. */
  readonly snapshotMaxAge_ms?: number;
  /** How often the machines are looked after: schedules, old snapshots, a drain; every 10 s when absent. */
  readonly upkeepPeriod_ms?: number;
  /** How long the freeze waits after a suspend is accepted, so that the answer is sent first. */
  readonly freezeDelay_ms?: number;
  /** When machines without work are put to sleep, and how long a start waits for a place; never, and not at all, where nothing is said. */
  readonly idle?: Partial<IdleSettings>;
  /** The time over which machines that are resumed together spread their reconnects; 0 when absent. */
  readonly reconnectSpread_ms?: number;
  /** How often one token may call, besides calls through the gateway; 100 a second when absent. */
  readonly callRate?: Rate;
  /** How often each thing may be done to one machine; three times at once and then once a second when absent, and reads 5 times a second. */
  readonly machineRates?: MachineRateOptions;
  /** How many sprites an organization without a limit of its own may create in a minute; 600 when absent. */
  readonly creationLimit?: number;
  /** How many tokens that nobody knows may be tried, from one address and in all. */
  readonly wrongTokens?: WrongTokenRates;
  /** The domain of aliases, and where mail to them is taken and passed on; aliases reach nobody when absent. */
  readonly mail?: MailOptions;
  /** How many wrong passwords may be tried at sign-on, from one address and in all; 20 at once and then one in 5 s from one when absent. */
  readonly signInRates?: WrongTokenRates;
  /** What a password costs to hash, for tests; a tenth of a second when absent. */
  readonly passwordCost?: PasswordCost;
  /** An OpenID provider where people sign in in place of a password. */
  readonly signInIssuer?: OpenIdSettings;
  /** How long a WebSocket through the gateway may be without a byte either way; ten minutes when absent, 0 = for ever. */
  readonly websocketIdle_ms?: number;
  /** How many calls each connector and each sprite may make through the gateway. */
  readonly gatewayLimits?: GatewayLimits;
  /** This platform as a client of the providers of the catalogue. */
  readonly oauthClients?: readonly OAuthClient[];
  /** The key with which the platform makes keys at a provider, by provider. */
  readonly managementKeys?: ReadonlyMap<string, Secret>;
  /** Ask a provider about an API key before it is stored; off when absent. */
  readonly verifyKeys?: boolean;
  /** Finds the addresses of the hosts that users give; the system does when absent. */
  readonly resolve?: Resolve;
  /** The URLs that records show without a proxy: `{sprite}` and `{organization}` stand for the names. */
  readonly spriteUrl?: string;
  /** Shown as the `environment_version` of every sprite: the version of what machines boot from. */
  readonly environmentVersion?: string;
  /** How long the steps of extensions wait and go on; see `defaultStepTimes`. */
  readonly extensionTimes?: Partial<StepTimes>;
  /** Checks every JSON answer against the schema of its operation, for tests. */
  readonly checkAnswers?: boolean;
  readonly clock?: Clock;
  /** Where `/metrics` is, and for whom; on the listener of the platform when absent, if only this machine reaches that. */
  readonly metrics?: MetricsAccess;
  readonly version: string;
  readonly log: Log;
}
