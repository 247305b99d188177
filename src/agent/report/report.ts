// The report of this machine's life put together: what is told, when it may go out, and what a refusal means (resume.md, sections 3
// and 4, step 4).
import type { z } from 'zod';
import type { reportStatus } from '../../contract/local/report.ts';
import type { ResumeReport } from '../../contract/resume-reports.ts';
import type { Clock } from '../../core/clock.ts';
import type { Secret } from '../../core/secret.ts';
import type { EventHub } from '../events/event-hub.ts';
import type { Log } from '../log.ts';
import type { ResumePart } from '../resume/resume.ts';
import type { Step } from '../resume/run-step.ts';
import type { Upstream } from '../upstream.ts';
import { openFenceObserver } from './fence-observer.ts';
import { createReportSender, REPORT_LIMIT_MS } from './report-sender.ts';
import { createReporter, type Reporter } from './reporter.ts';
import { createSpreadWait, type SpreadStore, type SpreadWait } from './spread-wait.ts';

const SPREAD_MARGIN_MS = 1_000;
const OFF = 'off, because the platform, the token, the application or the machine is not set';

export interface ReportOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly hub: Pick<EventHub, 'publish'>;
  readonly log: Pick<Log, 'info' | 'warn'>;
  readonly upstream: Pick<Upstream, 'dispatcher'>;
  readonly config: {
    readonly baseUrl: string | undefined;
    readonly token: Secret | undefined;
    readonly app: string | undefined;
    readonly machine: string | undefined;
  };
  readonly resume: Pick<ResumePart, 'generation' | 'incarnation' | 'identityHeaders' | 'lastResume'>;
  /** The names of those in force. */
  readonly holds: () => readonly string[];
  readonly spreadStore: SpreadStore;
  readonly version: string;
  /** Why the platform refuses this machine, with what to do; undefined when it does not. */
  readonly onFence: (reason: string | undefined) => void;
}

export interface Report extends AsyncDisposable {
  /** Reports the start in the background. */
  start(signal: AbortSignal): void;
  /** A resume was noticed. */
  onWake(): void;
  /** Of the recovery: the wait for this machine's time in the spread, when there is one, and the report. */
  steps(): readonly Step[];
  /** Resolves when the agent may send of its own accord: at once, but for a resume with a spread. */
  mayGoOut(signal?: AbortSignal): Promise<void>;
  /** Whether that is now. */
  readonly isHeldBack: boolean;
  /** `details.report` of GET /v1/status. */
  status(): z.infer<typeof reportStatus>;
}

export function createReport(options: ReportOptions): Report {
  const { config, resume } = options;
  const running = new AsyncDisposableStack();
  const spread = running.use(createSpreadWait(options.clock, config.machine ?? '', options.spreadStore));
  const reporter = open(options, spread);
  if (reporter !== undefined) running.use(reporter);

  return {
    start(signal) {
      if (reporter === undefined || config.baseUrl === undefined) return;
      running.use(openFenceObserver(config.baseUrl, reporter.doubt));
      reporter.report(signal).catch(() => undefined);
    },
    onWake() {
      if (reporter === undefined) return;
      reporter.hold();
      spread.begin(resume.generation());
    },
    steps() {
      if (reporter === undefined) return [];
      const wait: Step = { name: 'spread', deadline_ms: spread.spread_ms + SPREAD_MARGIN_MS, run: spread.wait };
      const report: Step = { name: 'report', deadline_ms: REPORT_LIMIT_MS, run: reporter.report };
      return spread.spread_ms > 0 ? [wait, report] : [report];
    },
    mayGoOut: spread.wait,
    get isHeldBack() {
      return spread.isWaiting;
    },
    status() {
      if (reporter !== undefined) return reporter.status();
      const unknown = { at: null, ok: null, clock_offset_ms: null, clock_uncertainty_ms: null };
      return { ...unknown, reason: OFF, reconnect_spread_ms: 0 };
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

function open(options: ReportOptions, spread: SpreadWait): Reporter | undefined {
  const { config, resume } = options;
  const { baseUrl, token, app, machine } = config;
  if (baseUrl === undefined || token === undefined || app === undefined || machine === undefined) return undefined;
  const sender = createReportSender({
    ...options,
    baseUrl,
    token,
    app,
    machine,
    identity: resume.identityHeaders,
    report: () => toReport(options),
  });
  return createReporter({ ...options, sender, spread, generation: resume.generation });
}

/** What is told of the life that this is: how it began, or that the agent did. */
function toReport({ resume, holds, version }: ReportOptions): ResumeReport {
  const { cause, gap_ms, wall_skew_ms, signals } = resume.lastResume() ?? {};
  return {
    generation: resume.generation(),
    incarnation: resume.incarnation(),
    reason: cause ?? 'start',
    gap_ms: gap_ms ?? null,
    wall_skew_ms: wall_skew_ms ?? null,
    holds: [...holds()],
    version,
    ...(signals === undefined ? {} : { signals }),
  };
}
