// The request target of a program that is to run. Pure.

export interface ExecWish {
  readonly words: readonly string[];
  /** Undefined without a terminal; without a size the far end chooses one. */
  readonly terminal: { readonly size: readonly [cols: number, rows: number] | undefined } | undefined;
  readonly workdir: string | undefined;
  /** Each `NAME=value`. */
  readonly env: readonly string[];
  readonly hasInput: boolean;
  /** It runs on when nobody is connected. */
  readonly isKept: boolean;
}

export function toExecTarget({ words, terminal, workdir, env, hasInput, isKept }: ExecWish): string {
  const [cols = 0, rows = 0] = terminal?.size ?? [];
  const pairs = [
    ...words.map((word) => ['cmd', word]),
    ...env.map((pair) => ['env', pair]),
    ...(workdir === undefined ? [] : [['dir', workdir]]),
    ...(terminal === undefined ? [] : [['tty', 'true']]),
    // A terminal that does not know its size says 0.
    ...(cols > 0 && rows > 0
      ? [
          ['cols', String(cols)],
          ['rows', String(rows)],
        ]
      : []),
    ...(hasInput ? [['stdin', 'true']] : []),
    ...(isKept ? [['detachable', 'true']] : []),
  ];
  return `/exec?${new URLSearchParams(pairs)}`;
}
