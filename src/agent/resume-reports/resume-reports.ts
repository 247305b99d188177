// Puts the reports of this machine's incarnation together: what a report holds, when it may be sent, and what a refusal means.
import type { z } from 'zod';
import type { resumeReporterStatus } from '../../contract/local/resume-reports.ts';
import type { ResumeReport, ResumeReportResponse } from '../../contract/resume-reports.ts';
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import type { Secret } from '../../core/secret.ts';
import type { EventHub } from '../events/event-hub.ts';
import type { ResumePart } from '../resume/resume.ts';
import type { Step } from '../resume/run-step.ts';
import type { Upstream } from '../upstream.ts';
import { openFenceObserver } from './fence-observer.ts';
import { createReportSender, REPORT_LIMIT_MS } from './report-sender.ts';
import { createResumeReporter, type ResumeReporter } from './resume-reporter.ts';
import { createSpreadWait, type SpreadStore, type SpreadWait } from './spread-wait.ts';

const SPREAD_MARGIN_MS = 1_000;
const OFF = 'off, because the platform, the token, the application or the machine is not set';

const NO_NONCE =
  'the platform has not told this incarnation apart from that of a copy: two machines restored from one snapshot may draw equal numbers';

export interface ResumeReportsOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly hub: Pick<EventHub, 'publish'>;
  readonly log: Log;
  readonly upstream: Pick<Upstream, 'dispatcher'>;
  readonly config: {
    readonly baseUrl: string | undefined;
    readonly token: Secret | undefined;
    readonly app: string | undefined;
    readonly machine: string | undefined;
  };
  readonly resume: Pick<
    ResumePart,
    'generation' | 'incarnation' | 'identityHeaders' | 'lastResume' | 'accept' | 'hasNonce' | 'isNewInstallation'
  >;
  /** Resolves when the local callers that a resume has held up are answered, or have waited long; absent = at once. */
  readonly callersFirst?: () => Promise<void>;
  /** Called when this machine took over from another copy: it is in another generation then. */
  readonly onAdopted: () => void;
  /** Names of the holds in force. */
  readonly holds: () => readonly string[];
  readonly spreadStore: SpreadStore;
  readonly version: string;
  /** Called with the reason why the platform refuses this machine and what to do; with undefined when it does not refuse it. */
  readonly onFence: (reason: string | undefined) => void;
}

export interface ResumeReports extends AsyncDisposable {
  /** Begins to report the start, in the background; `in recovery`: the step of a recovery reports. */
  start(signal: AbortSignal, when?: 'now' | 'in recovery'): void;
  /** Call it when a resume was noticed. */
  onResumed(): void;
  /** Steps of the recovery: the wait for this machine's time in the spread, when there is one, and the report. */
  steps(): readonly Step[];
  /** Resolves when the agent may send of its own accord: at once, except after a resume with a spread. */
  mayGoOut(signal?: AbortSignal): Promise<void>;
  /** True while `mayGoOut` waits. */
  readonly isHeldBack: boolean;
  /**
   * Resolves when random values drawn here differ from those that a copy of this machine draws: when the platform has answered, or two
   * seconds after the start or the resume; at once without a platform. A call with the nonce of the answer confirms it.
   */
  mayDraw(): Promise<void>;
  /**
   * The `mayDraw` of calls by local programs, which do not wait for this machine's time in the spread. Undefined: they need not
   * wait.
   */
  mayCall(): Promise<void> | undefined;
  /** The URLs of the ports of this sprite as the platform has sent them last, with `{port}`; see `resumeReportResponse`. */
  servedPorts(): string | null | undefined;
  /** Says to people what cannot be noticed while there is no nonce. */
  blindSpots(): readonly string[];
  /** `details.report` of GET /v1/status. */
  status(): z.infer<typeof resumeReporterStatus>;
}

export function createResumeReports(options: ResumeReportsOptions): ResumeReports {
  const { config, resume } = options;
  const running = new AsyncDisposableStack();
  const spread = running.use(createSpreadWait(options.clock, config.machine ?? '', options.spreadStore));
  let servedPorts: string | null | undefined;
  const reporter: ResumeReporter | undefined = open(options, spread, ({ port_address }) => {
    servedPorts = port_address;
    if (resume.hasNonce()) reporter?.noteNonce();
  });
  if (reporter !== undefined) running.use(reporter);

  return {
    start(signal, when = 'now') {
      if (reporter === undefined || config.baseUrl === undefined) return;
      running.use(openFenceObserver(config.baseUrl, reporter.doubt));
      if (when === 'now') reporter.report(signal).catch(() => undefined);
    },
    onResumed() {
      if (reporter === undefined) return;
      reporter.hold();
      spread.begin(resume.generation());
    },
    steps() {
      if (reporter === undefined) return [];
      const wait: Step = { name: 'spread', deadline_ms: spread.spread_ms + SPREAD_MARGIN_MS, run: spread.wait };
      const report: Step = { name: 'report', deadline_ms: REPORT_LIMIT_MS, run: reporter.report };
      return spread.spread_ms > 0 ? [wait, report] : [{ ...report, isForCallers: true }];
    },
    mayGoOut: spread.wait,
    get isHeldBack() {
      return spread.isWaiting;
    },
    servedPorts: () => servedPorts,
    blindSpots: () => (reporter === undefined || resume.hasNonce() ? [] : [NO_NONCE]),
    async mayDraw() {
      if (reporter !== undefined && !resume.hasNonce()) await reporter.settled();
    },
    mayCall() {
      return reporter === undefined || resume.hasNonce() || spread.isWaiting ? undefined : reporter.settled();
    },
    status() {
      if (reporter !== undefined) return { ...reporter.status(), nonce: resume.hasNonce() };
      const unknown = { at: null, ok: null, nonce: null, clock_offset_ms: null, clock_uncertainty_ms: null };
      return { ...unknown, reason: OFF, reconnect_spread_ms: 0 };
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

function open(
  options: ResumeReportsOptions,
  spread: SpreadWait,
  onAccepted: (answer: ResumeReportResponse) => void,
): ResumeReporter | undefined {
  const { config, resume } = options;
  const { baseUrl, token, app, machine } = config;
  if (baseUrl === undefined || token === undefined || app === undefined || machine === undefined) return undefined;
  let isColdStartKnown = false;
  const sender = createReportSender({
    ...options,
    baseUrl,
    token,
    app,
    machine,
    identity: resume.identityHeaders,
    callersFirst: options.callersFirst ?? (async () => undefined),
    report: () => toResumeReport(options),
    onAnswer(incarnation, answer) {
      const before = resume.generation();
      resume.accept(incarnation, answer);
      onAccepted(answer);
      if (resume.generation() !== before) options.onAdopted();
      // The answer to the same report may come again.
      if (answer.cold_start !== undefined && !isColdStartKnown) {
        isColdStartKnown = true;
        options.hub.publish('cold_start', { cause: answer.cold_start });
      }
    },
  });
  return createResumeReporter({ ...options, sender, spread, generation: resume.generation });
}

/** Builds the report of this incarnation: how it began, or that the agent started in it. */
function toResumeReport({ resume, holds, version }: ResumeReportsOptions): ResumeReport {
  const { cause, gap_ms, wall_skew_ms, signals } = resume.lastResume() ?? {};
  return {
    generation: resume.generation(),
    incarnation: resume.incarnation(),
    reason: cause ?? 'start',
    gap_ms: gap_ms ?? null,
    wall_skew_ms: wall_skew_ms ?? null,
    holds: [...holds()],
    version,
    ...(resume.isNewInstallation() ? { new_installation: true } : {}),
    ...(signals === undefined ? {} : { signals }),
  };
}
