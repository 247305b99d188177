// The manual pages: remora(1) from the commands, remora-settings(5) from the settings of the agent. Pure.
import type { Setting } from '../../agent/config/settings.ts';
import type { Command, Flag } from '../command.ts';
import { exitCode } from '../exit-code.ts';

const GROUPS = [
  ['run', 'THINGS THAT RUN'],
  ['ask', 'ASKING A RUNNING AGENT'],
  ['inside', 'REACHING INTO A SPRITE'],
  ['platform', 'WORKING ON A PLATFORM'],
  ['shell', 'FOR THE SHELL'],
] as const satisfies readonly (readonly [Command['group'], string])[];

const EXITS = [
  [exitCode.ok, 'done'],
  [exitCode.failed, 'it failed, or the answer is an error'],
  [exitCode.usage, 'the command line is wrong'],
  [exitCode.unreachable, 'nobody serves there'],
  [exitCode.lost, 'the connection to a program elsewhere was lost'],
] as const;

/** The source of remora(1). */
export function toCommandManual(commands: readonly Command[], version: string): string {
  const sections = GROUPS.flatMap(([group, heading]) => [
    `.SH ${heading}`,
    ...commands.filter((command) => command.group === group).flatMap(toCommandLines),
  ]);
  return toPage([
    toTitle('REMORA', 1, version),
    '.SH NAME',
    'remora \\- the agent inside a virtual machine, its platform, and what asks them',
    '.SH SYNOPSIS',
    '\\fBremora\\fR \\fICOMMAND\\fR [\\fIflags\\fR]',
    '.br',
    '\\fBremora\\fR \\fICOMMAND\\fR \\fB\\-\\-help\\fR',
    ...sections,
    '.SH EXIT STATUS',
    ...EXITS.flatMap(([code, meaning]) => ['.TP', String(code), toText(meaning)]),
    '.SH FILES',
    ...toItem('/run/remora/remora.sock', 'the socket of the agent'),
    ...toItem('/etc/remora/agent.toml', 'settings of the agent'),
    ...toItem('/etc/remora/agent.env', 'the same as variables'),
    ...toItem('/etc/credstore/remora-token', "the sprite's token"),
    '.SH SEE ALSO',
    '\\fBremora\\-settings\\fR(5), \\fBsystemctl\\fR(1)',
  ]);
}

/** The source of remora-settings(5). */
export function toSettingManual(settings: Readonly<Record<string, Setting>>, version: string): string {
  return toPage([
    toTitle('REMORA-SETTINGS', 5, version),
    '.SH NAME',
    'remora\\-settings \\- settings of the Remora agent',
    '.SH SYNOPSIS',
    '\\fB/etc/remora/agent.toml\\fR',
    '.br',
    '\\fB/etc/remora/agent.env\\fR',
    '.SH DESCRIPTION',
    toText(
      'Variables win over the file with keys. `systemctl reload remora` takes what is marked so; the rest waits for a',
    ),
    toText('restart.'),
    '.SH SETTINGS',
    ...Object.values(settings).flatMap(({ env, key, fallback, isLive, summary }) => {
      const notes = [...(fallback ? [`default: \`${fallback}\``] : []), ...(isLive ? ['taken at a reload'] : [])];
      const text = notes.length === 0 ? summary : `${summary} (${notes.join('; ')})`;
      return ['.TP', `${toBold(env)}, ${toBold(key)}`, toText(text)];
    }),
    '.SH SEE ALSO',
    '\\fBremora\\fR(1), \\fBsystemd.exec\\fR(5)',
  ]);
}

function toCommandLines({ name, operands, summary, flags, notes, also }: Command): string[] {
  const after = operands === '' ? '' : ` ${operands}`;
  return [
    `.SS ${toEscaped(`remora ${name} [flags]${after}`)}`,
    toText(summary),
    ...Object.entries(flags).flatMap(([flag, row]) => ['.TP', toFlagName(flag, row), toText(row.summary)]),
    ...(notes === undefined ? [] : ['.PP', ...notes.map(toText)]),
    ...(also === undefined ? [] : ['.PP', toText(`The same: ${also.map((each) => `\`remora ${each}\``).join(', ')}`)]),
  ];
}

function toFlagName(name: string, { type, short, value }: Flag): string {
  const long = toBold(`--${name}`);
  const names = short === undefined ? long : `${toBold(`-${short}`)}, ${long}`;
  return type === 'string' ? `${names} \\fI${toEscaped(value ?? 'VALUE')}\\fR` : names;
}

function toItem(name: string, text: string): string[] {
  return ['.TP', toBold(name), toText(text)];
}

function toTitle(name: string, section: number, version: string): string {
  return `.TH ${name} ${section} "" "Remora ${version}" "Remora"`;
}

const toBold = (text: string) => `\\fB${toEscaped(text)}\\fR`;

/** What stands between backquotes is bold. A line that begins like a request is text. */
function toText(text: string): string {
  const marked = toEscaped(text).replaceAll(/`([^`]*)`/g, '\\fB$1\\fR');
  return /^[.']/.test(marked) ? `\\&${marked}` : marked;
}

/** Hyphens are those that are typed, and stay so when they are copied. */
function toEscaped(text: string): string {
  return text.replaceAll('\\', '\\e').replaceAll('-', '\\-');
}

function toPage(lines: readonly string[]): string {
  return `${lines.join('\n')}\n`;
}
