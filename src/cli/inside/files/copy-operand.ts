// An operand of `remora cp`: a file here, a file in a sprite, or standard input and output. Pure.

export type CopyOperand =
  | { readonly type: 'here'; readonly path: string }
  /** `name` is undefined for the sprite that flags and variables choose. */
  | { readonly type: 'sprite'; readonly name: string | undefined; readonly path: string }
  | { readonly type: 'stream' };

/** `NAME:PATH`, `:PATH`, `-`, or a path here; one with a slash before its first colon is here, as with scp. */
export function parseCopyOperand(text: string): CopyOperand {
  if (text === '-') return { type: 'stream' };
  const [, name, path] = /^([^/:]*):(.*)$/s.exec(text) ?? [];
  if (name === undefined || path === undefined) return { type: 'here', path: text };
  return { type: 'sprite', name: name === '' ? undefined : name, path };
}
