// Text as one word of a POSIX shell: what is pasted is read back as the same bytes. Pure.

/** A leading `=` is not among them, because zsh expands it; `~` is nowhere, because every shell expands it. */
const PLAIN = /^[\w@%+:,./-][\w@%+=:,./-]*$/;

/** Quotes the text only where a shell would read something else. */
export function toShellWord(text: string): string {
  return PLAIN.test(text) ? text : toQuotedWord(text);
}

/** Quotes the text in any case, for a word that people edit: a query added to a URL stays inside the quotes. */
export function toQuotedWord(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
