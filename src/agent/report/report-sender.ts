// One report to the platform, with the way there and back measured.
import { createClient } from '../../client/client.ts';
import { type ResumeReport, resumeReportOperations } from '../../contract/resume-reports.ts';
import type { Clock } from '../../core/clock.ts';
import { type ClockOffset, toClockOffset } from '../../core/clock-offset.ts';
import type { Secret } from '../../core/secret.ts';
import type { Upstream } from '../upstream.ts';

export const REPORT_LIMIT_MS = 2_000;

export interface TakenReport {
  readonly reconnect_spread_ms: number;
  readonly clock: ClockOffset;
}

export interface ReportSender {
  /** Throws UpstreamError. */
  send(signal: AbortSignal): Promise<TakenReport>;
}

export interface ReportSenderOptions {
  readonly clock: Clock;
  readonly upstream: Pick<Upstream, 'dispatcher'>;
  readonly baseUrl: string;
  readonly token: Secret;
  readonly app: string;
  readonly machine: string;
  /** Looks for a resume first, so it is asked before `report`: the two must tell of the same life. */
  readonly identity: () => Readonly<Record<string, string>>;
  /** What is to be told now. */
  readonly report: () => ResumeReport;
}

export function createReportSender(options: ReportSenderOptions): ReportSender {
  const { clock, upstream, token } = options;
  const client = createClient(resumeReportOperations, {
    origin: options.baseUrl,
    dispatcher: () => upstream.dispatcher,
    timeout_ms: REPORT_LIMIT_MS,
  });
  const params = { app_name: options.app, machine_id: options.machine };
  return {
    async send(signal) {
      const headers = { authorization: `Bearer ${token.reveal()}`, ...options.identity() };
      const body = options.report();
      const asked_mono_ms = clock.mono_ms();
      const answer = await client.call('reportResume', { params, headers, body, signal });
      const offset = toClockOffset({
        asked_mono_ms,
        answered_mono_ms: clock.mono_ms(),
        answered_wall_ms: clock.wall_ms(),
        server_ms: Date.parse(answer.server_time),
      });
      return { reconnect_spread_ms: answer.reconnect_spread_ms, clock: offset };
    },
  };
}
