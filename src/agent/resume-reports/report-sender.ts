// Sends one report to the platform, measures the round trip, and makes the call that confirms the answer.
import type { Client } from '../../client/client.ts';
import { machineOperations } from '../../contract/machines.ts';
import { type ResumeReport, type ResumeReportResponse, resumeReportOperations } from '../../contract/resume-reports.ts';
import type { Clock } from '../../core/clock.ts';
import { type ClockOffset, toClockOffset } from '../../core/resume/clock-offset.ts';
import type { Secret } from '../../core/secret.ts';
import type { Upstream } from '../upstream.ts';

export const REPORT_LIMIT_MS = 2_000;

export interface AcceptedReport {
  readonly reconnect_spread_ms: number;
  readonly clock: ClockOffset;
}

export interface ReportSender {
  /** Throws UpstreamError. */
  send(signal: AbortSignal): Promise<AcceptedReport>;
}

export interface ReportSenderOptions {
  readonly clock: Clock;
  readonly upstream: Pick<Upstream, 'dispatcher'>;
  readonly baseUrl: string;
  readonly token: Secret;
  readonly app: string;
  readonly machine: string;
  /** Looks for a resume first, so it is called before `report`: both must name the same incarnation. */
  readonly identity: () => Readonly<Record<string, string>>;
  /** Builds the body of the report. */
  readonly report: () => ResumeReport;
  /** Called when the platform accepted the report of `incarnation`. The answer must be stored before anything else is sent. */
  readonly onAnswer: (incarnation: string, answer: ResumeReportResponse) => void;
  /** Awaited between the answer and the call that confirms it. A call of a local program confirms it too. */
  readonly callersFirst: () => Promise<void>;
}

/** What confirms an answer is that the call is served: nothing of the machine that it shows is used. */
const confirm = { ...machineOperations.readMachine, answer: { kind: 'empty', status: 200 } } as const;
const operations = { ...resumeReportOperations, confirm } as const;

export function createReportSender(options: ReportSenderOptions): ReportSender {
  const { clock, upstream, token } = options;
  let client: Client<typeof operations> | undefined;

  /** Loaded by the report of the start: after a resume the disk may be slow. */
  async function openClient(): Promise<Client<typeof operations>> {
    const { createClient } = await import('../../client/client.ts');
    const { baseUrl: origin } = options;
    return createClient(operations, { origin, dispatcher: () => upstream.dispatcher, timeout_ms: REPORT_LIMIT_MS });
  }

  const params = { app_name: options.app, machine_id: options.machine };
  return {
    async send(signal) {
      client ??= await openClient();
      const headers = () => ({ authorization: `Bearer ${token.reveal()}`, ...options.identity() });
      const identity = headers();
      const body = options.report();
      const asked_mono_ms = clock.mono_ms();
      const answer = await client.call('reportResume', { params, headers: identity, body, signal });
      const offset = toClockOffset({
        asked_mono_ms,
        answered_mono_ms: clock.mono_ms(),
        answered_wall_ms: clock.wall_ms(),
        server_ms: Date.parse(answer.server_time),
      });
      options.onAnswer(body.incarnation, answer);
      // When machines are equal to the last byte, the platform serves the one whose nonce comes back first.
      if (answer.nonce !== undefined) {
        await options.callersFirst();
        await client.call('confirm', { params, headers: headers(), signal });
      }
      return { reconnect_spread_ms: answer.reconnect_spread_ms, clock: offset };
    },
  };
}
