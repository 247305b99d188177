// The reports of one machine alone: its incarnation is set by the test, its platform is a real one.
import { onTestFinished } from 'vitest';
import type { z } from 'zod';
import { runStep } from '../../src/agent/resume/run-step.ts';
import {
  createResumeReports,
  type ResumeReports,
  type ResumeReportsOptions,
} from '../../src/agent/resume-reports/resume-reports.ts';
import { createUpstream, type Upstream } from '../../src/agent/upstream.ts';
import type { stepResult } from '../../src/contract/local/resume.ts';
import type { MachineIncarnation } from '../../src/contract/resume-reports.ts';
import { systemClock } from '../../src/core/clock.ts';
import { randomFraction, randomHex } from '../../src/core/urandom.ts';
import { silentLog } from './silent-log.ts';

const FAR_MS = 50_000;

type StepReport = z.infer<typeof stepResult>;

export interface ReportAgent {
  readonly report: ResumeReports;
  readonly upstream: Upstream;
  readonly incarnation: MachineIncarnation;
  readonly headers: Readonly<Record<string, string>>;
  readonly events: readonly Readonly<Record<string, unknown>>[];
  /** Each word about the fence, in order. */
  readonly fences: readonly (string | undefined)[];
  /** What is kept for a restart. */
  readonly spread: { ms: number };
  start(): void;
  /** A resume: a new incarnation, then the steps of the recovery. */
  resume(): Promise<StepReport[]>;
  stop(): Promise<void>;
}

export interface ReportAgentOptions {
  readonly config: Partial<ResumeReportsOptions['config']>;
  readonly incarnation?: MachineIncarnation;
  /** What an earlier process of the same machine was given. */
  readonly nonce?: string | undefined;
  readonly spread?: { ms: number };
  readonly upstream?: Upstream;
  readonly callersFirst?: () => Promise<void>;
  /** The deadlines of the steps of the recovery: far more than each takes when absent. `as it is`: those of the daemon. */
  readonly deadlines?: 'as it is';
}

export function createReportAgent(options: ReportAgentOptions): ReportAgent {
  const upstream = options.upstream ?? createUpstream();
  const spread = options.spread ?? { ms: 0 };
  const events: Record<string, unknown>[] = [];
  const fences: (string | undefined)[] = [];
  let current = options.incarnation ?? { generation: 0, incarnation: randomHex(16) };
  let cause: string | undefined;
  let nonce = options.nonce;
  let isKnown = nonce !== undefined;
  const headers = () => ({
    'remora-generation': String(current.generation),
    'remora-incarnation': current.incarnation,
    ...(nonce === undefined ? {} : { 'remora-nonce': nonce }),
  });
  const report = createResumeReports({
    clock: systemClock,
    random: randomFraction,
    hub: {
      publish(type, fields) {
        events.push({ type, ...fields });
        return { seq: events.length, time: '', generation: current.generation, type, ...fields };
      },
    },
    log: silentLog,
    upstream,
    config: { baseUrl: undefined, token: undefined, app: undefined, machine: undefined, ...options.config },
    resume: {
      generation: () => current.generation,
      incarnation: () => current.incarnation,
      identityHeaders: headers,
      accept(id, answer) {
        if (id !== current.incarnation) return;
        current = { incarnation: id, generation: answer.generation ?? current.generation };
        nonce = answer.nonce ?? nonce;
        isKnown = true;
      },
      hasNonce: () => nonce !== undefined,
      isNewInstallation: () => !isKnown,
      lastResume: () =>
        cause === undefined
          ? undefined
          : {
              at: '2026-01-02T03:04:05.678Z',
              gap_ms: 14_000,
              wall_skew_ms: 13_000,
              signals: ['generation', 'rtc'],
              cause,
              certainty: 'certain',
              generation: current.generation,
            },
    },
    ...(options.callersFirst === undefined ? {} : { callersFirst: options.callersFirst }),
    holds: () => ['build'],
    version: '1.2.3',
    spreadStore: {
      load: () => spread.ms,
      save(spread_ms) {
        spread.ms = spread_ms;
      },
    },
    onAdopted: () => undefined,
    onFence: (reason) => void fences.push(reason),
  });
  const stopping = new AbortController();
  async function stop(): Promise<void> {
    stopping.abort();
    await report[Symbol.asyncDispose]();
    if (options.upstream === undefined) await upstream[Symbol.asyncDispose]();
  }
  onTestFinished(stop);
  return {
    report,
    upstream,
    get incarnation() {
      return current;
    },
    get headers() {
      return headers();
    },
    events,
    fences,
    spread,
    start: () => report.start(stopping.signal),
    async resume() {
      const steps = report.steps();
      current = { generation: current.generation + 1, incarnation: randomHex(16) };
      nonce = undefined;
      cause = 'restore';
      report.onResumed();
      const reports: StepReport[] = [];
      for (const step of steps) {
        const deadline_ms = options.deadlines === undefined ? FAR_MS : step.deadline_ms;
        reports.push(
          await runStep(
            { ...step, deadline_ms },
            { clock: systemClock, signal: stopping.signal, check: () => undefined },
          ),
        );
      }
      return reports;
    },
    stop,
  };
}
