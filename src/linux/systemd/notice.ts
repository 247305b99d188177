// What a daemon tells systemd about itself, in the words of sd_notify(3). Pure.

export interface Notice {
  /** It serves; after `reloading` it has its new settings. */
  readonly ready?: boolean;
  /** It reads its settings again; since when, in microseconds of the monotonic clock. */
  readonly reloading_us?: bigint;
  readonly stopping?: boolean;
  /** It is well; said again and again where systemd watches it. */
  readonly alive?: boolean;
  /** One line, shown by `systemctl status`. */
  readonly status?: string;
}

/** Longer ones are cut, because a datagram and the line of `systemctl status` are short. */
const STATUS_CHARACTERS = 500;

/** The notice as variable assignments; empty when it says nothing. A status cannot hold another assignment. */
export function toNotifyWords({ ready, reloading_us, stopping, alive, status }: Notice): string[] {
  const words: string[] = [];
  if (ready === true) words.push('READY=1');
  if (reloading_us !== undefined) words.push('RELOADING=1', `MONOTONIC_USEC=${reloading_us}`);
  if (stopping === true) words.push('STOPPING=1');
  if (alive === true) words.push('WATCHDOG=1');
  if (status !== undefined) words.push(`STATUS=${toOneLine(status)}`);
  return words;
}

function toOneLine(status: string): string {
  const line = status.replaceAll(/[\s\p{Cc}]+/gu, ' ');
  return line.length > STATUS_CHARACTERS ? `${line.slice(0, STATUS_CHARACTERS)}…` : line;
}
