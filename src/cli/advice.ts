// Problems of an agent and what to do about each, read from `/v1/status`. Pure.
import type { z } from 'zod';
import type { agentStatus, partNames } from '../contract/local/status.ts';

export type AgentStatus = z.output<typeof agentStatus>;
type PartName = (typeof partNames)[number];

export interface Advice {
  /** The part or setting with the problem, or the agent itself. */
  readonly about: string;
  readonly problem: string;
  readonly todo: string;
}

/** What to do about a part that is degraded or has failed. */
const remedies: Readonly<Record<PartName, string>> = {
  settings: 'correct what it names in /etc/remora/agent.toml or the REMORA_* variables, and restart the agent',
  store: 'see that REMORA_STATE_DIR is on a disk that is there, is not full, and belongs to the user of the agent',
  machine:
    'see that REMORA_MACHINES_API leads to the machines API and that the token is good; a copy of a machine is stopped and started through the platform',
  channel:
    'see that REMORA_BASE_URL leads to the platform, that the token is that of this machine, and that a proxy between them passes on the header Upgrade',
  gateway: 'see that REMORA_BASE_URL leads to the platform and that the token is good: `remora curl /v1/gateway/list`',
  ports:
    'see that the agent may read /proc; other users’ processes need CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH, as in the unit',
  notices: 'see that REMORA_BASE_URL leads to the platform and that the token is good; what is not told yet is kept',
  replication: 'see that the database node runs and that REMORA_NODE_URL leads to it',
  resume: 'see what it names; a restore may be noticed late until then',
  hooks:
    'see that each hook is executable and belongs to the user of the agent or to root, and that nobody else may write it',
  supervisor:
    'see that REMORA_USER names a user of this machine; under systemd: `systemctl status remora-supervisor.socket remora-supervisor`',
  network:
    'see what it names, and network.log in REMORA_STATE_DIR; under systemd: `systemctl status remora-network.socket remora-network`',
};

/** The setting that switches a part on. */
const switches: Readonly<Partial<Record<PartName, string>>> = {
  machine: 'REMORA_MACHINES_API, or the socket /.fly/api',
  channel: 'REMORA_BASE_URL, a token, REMORA_APP and REMORA_MACHINE',
  gateway: 'REMORA_BASE_URL and a token',
  notices: 'REMORA_BASE_URL and a token',
  replication: 'REMORA_NODE_URL',
  hooks: 'REMORA_HOOKS_DIR',
  supervisor: 'REMORA_USER',
  network: 'remora-network.socket, or REMORA_NETWORK_POLICY',
};

/** The most urgent first; empty when nothing is wrong. */
export function toAdvice(status: AgentStatus): readonly Advice[] {
  const found: Advice[] = [];
  if (status.state === 'fenced') {
    found.push({
      about: 'agent',
      problem: 'it waits for a suspend to follow, and takes no new work',
      todo: 'wait; if nothing follows within a minute, ask the platform about this machine',
    });
  }
  for (const state of ['failed', 'degraded', 'starting'] as const) {
    for (const [name, part] of partsOf(status)) {
      if (part.state !== state) continue;
      const problem = part.reason ?? (state === 'starting' ? 'it has not come up yet' : state);
      found.push({ about: name, problem, todo: remedies[name] });
    }
  }
  if (isRefused(status, 'channel')) {
    const problem = status.parts.channel.reason ?? 'it is not open';
    const todo = `${remedies.channel}; after a refusal for good, restart the agent, so that it asks again`;
    found.push({ about: 'channel', problem, todo });
  }
  for (const { setting, message } of status.warnings) {
    found.push({ about: setting, problem: message, todo: 'correct it or take it out, and restart the agent' });
  }
  return found;
}

/** The parts that are off by their settings, and the setting that switches each on. */
export function toSwitches(status: AgentStatus): readonly { readonly part: string; readonly by: string }[] {
  return partsOf(status).flatMap(([part, { state }]) => {
    const by = switches[part];
    return state === 'off' && by !== undefined && !isRefused(status, part) ? [{ part, by }] : [];
  });
}

/** Whether a part is off although its settings are there: the platform gives no channel, or has not said yet. */
function isRefused({ parts, details }: AgentStatus, part: PartName): boolean {
  if (part !== 'channel' || parts.channel.state !== 'off') return false;
  const { channel } = details;
  return typeof channel === 'object' && channel !== null && 'state' in channel && channel.state !== 'off';
}

function partsOf(status: AgentStatus) {
  return Object.entries(status.parts) as [PartName, AgentStatus['parts'][PartName]][];
}
