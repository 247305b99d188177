// A table in Markdown. Pure.

/** Cells may hold Markdown, but no HTML; a bar or a line break in one does not end it. */
export function toMarkdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(toCell).join(' | ')} |`;
  return [line(head), `|${head.map(() => '---|').join('')}`, ...rows.map(line)].join('\n');
}

function toCell(text: string): string {
  const outsideCode = (part: string, at: number) => (at % 2 === 0 ? part.replaceAll('<', '\\<') : part);
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ').split('`').map(outsideCode).join('`');
}
