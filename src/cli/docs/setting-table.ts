// The settings of the agent as a table. Pure.
import type { Setting } from '../../agent/config/settings.ts';
import { toMarkdownTable } from './markdown-table.ts';

export function toSettingTable(settings: Readonly<Record<string, Setting>>): string {
  return toMarkdownTable(
    ['variable', 'key in the file', 'default', 'reload', 'what it is'],
    Object.values(settings).map(({ env, key, fallback, isLive, summary }) => [
      `\`${env}\``,
      `\`${key}\``,
      fallback === undefined || fallback === '' ? '' : `\`${fallback}\``,
      isLive === true ? 'yes' : '',
      summary,
    ]),
  );
}
