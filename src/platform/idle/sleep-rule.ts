// What is to happen to a machine without work, by its configuration and the settings of the platform. Pure.
import type { MachineConfig } from '../../contract/machine-config.ts';
import type { WakeReason } from '../../contract/machine-idle.ts';
import { judgeEligibility } from '../../core/machine/suspend-eligibility.ts';
import type { MachineRow } from '../machines/records/machine-row.ts';
import { toMachineFacts } from '../machines/records/machine-views.ts';
import type { IdleSettings } from './idle-settings.ts';

export interface SleepRule {
  readonly of: 'sprite' | 'app';
  readonly move: 'suspend' | 'stop';
  /** The machine sleeps after this long without work; of an app, the last one does. */
  readonly after_ms: number;
}

/** What the services of a machine say of how many of them there are to be. */
export interface ServiceLimits {
  /** How many machines of the app are to run in each region. */
  readonly minRunning: number;
  /** How many requests the machine takes before another one is better; Infinity where nothing is said. */
  readonly softLimit: number;
}

/** `why`: nothing puts the machine to sleep, for this reason. */
export type RuleFound = { readonly rule: SleepRule } | { readonly why: WakeReason };

type RuledMachine = Pick<MachineRow, 'config' | 'machine_only' | 'config_updated_at'>;

/** The configuration of a sprite may say `stop` or `off`; where it says nothing, a sprite is suspended, and another machine is left running. */
export function findSleepRule(row: RuledMachine, settings: IdleSettings): RuleFound {
  const { config, machine_only } = row;
  if (config.external === true) return { why: toReason('elsewhere', 'the machine is run elsewhere') };
  const modes = listModes(config);
  const after_ms = machine_only ? settings.round_ms : settings.sprite_ms;
  const owner = machine_only ? 'auto_stop_machines' : '--sprite-idle';
  if (modes.has('off')) return { why: toSetting('auto_stop_machines', 'its services say off') };
  if (machine_only && modes.size === 0) return { why: toSetting(owner, 'its services say nothing of it') };
  if (after_ms === undefined) {
    return { why: toSetting(machine_only ? '--app-idle' : owner, 'this platform puts no such machine to sleep') };
  }
  const move = toMove(row, modes);
  if (typeof move !== 'string') return { why: move };
  return { rule: { of: machine_only ? 'app' : 'sprite', move, after_ms } };
}

export function readServices({ http_service, services = [] }: MachineConfig): ServiceLimits {
  const all = [...(http_service === undefined ? [] : [http_service]), ...services];
  return {
    minRunning: Math.max(0, ...all.map(({ min_machines_running = 0 }) => min_machines_running)),
    softLimit: Math.min(Infinity, ...all.map(({ concurrency }) => concurrency?.soft_limit ?? Infinity)),
  };
}

type Mode = 'off' | 'stop' | 'suspend';

/** What the services of a machine say; those that say nothing count for nothing. */
function listModes({ http_service, services = [] }: MachineConfig): ReadonlySet<Mode> {
  const given = [http_service?.auto_stop_machines, ...services.map(({ autostop }) => autostop)];
  return new Set(
    given.flatMap((mode): Mode[] => {
      if (mode === undefined) return [];
      return [mode === true ? 'stop' : mode === false ? 'off' : mode];
    }),
  );
}

/** A suspend loses nothing, so that it comes first where both are allowed. */
function toMove(row: RuledMachine, modes: ReadonlySet<Mode>): SleepRule['move'] | WakeReason {
  if (modes.size > 0 && !modes.has('suspend')) return 'stop';
  const { eligible, conditions } = judgeEligibility(toMachineFacts(row));
  if (eligible) return 'suspend';
  if (modes.has('stop')) return 'stop';
  const failing = conditions.filter(({ verdict }) => verdict === 'fails').map(({ message }) => message);
  return toReason('not_eligible', 'it may not be suspended', failing.join('; '));
}

function toSetting(owner: string, reason: string): WakeReason {
  return toReason('setting', owner, reason);
}

function toReason(kind: WakeReason['kind'], owner: string, reason?: string): WakeReason {
  return { kind, owner, since: null, ...(reason === undefined ? {} : { reason }) };
}
