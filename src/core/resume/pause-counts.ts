// How often the host of a machine has held it still, as the host writes it for the agent: a line for each kind of pause. Whatever else the
// agent sees of a pause is the same for both kinds.

export interface PauseCounts {
  /** Pauses for a copy of its files, counted when the machine goes on. Clocks and connections are the same after it, and nobody took the machine for gone. */
  readonly copies: number;
  /** Pauses of a suspend, counted when the machine is resumed. */
  readonly resumes: number;
}

const LINES = /^copies (\d{1,15})\nresumes (\d{1,15})\n$/;

/** Undefined for any other text. */
export function parsePauseCounts(text: string): PauseCounts | undefined {
  const found = LINES.exec(text);
  return found === null ? undefined : { copies: Number(found[1]), resumes: Number(found[2]) };
}

export function formatPauseCounts({ copies, resumes }: PauseCounts): string {
  return `copies ${copies}\nresumes ${resumes}\n`;
}
