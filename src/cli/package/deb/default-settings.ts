// The files in /etc/remora, in which every setting is a comment. Debian asks before it replaces one that was changed, so settings of a machine
// are better written to agent.toml, which is not in the package. Pure.
import type { Setting } from '../../../agent/config/settings.ts';

const AGENT_HEAD = `# Settings of the Remora agent as variables; remora-settings(5) has them too. /etc/remora/agent.toml holds the same settings under their
# keys, and no upgrade touches it: what is set here wins. \`systemctl reload remora\` takes what is marked so, the rest waits for
# \`systemctl restart remora\`. The token is in no setting: it is the file /etc/credstore/remora-token, which only root reads.
`;

const PLATFORM = `# Flags of the Remora platform, for \`systemctl enable --now remora-platform\`; \`remora platform --help\` lists them. They need a restart.
#REMORA_PLATFORM_FLAGS="--organization acme --token-file /var/lib/remora-platform/acme.token"
`;

/** The files by path, each with its text. */
export function toDefaultSettings(settings: Readonly<Record<string, Setting>>): Record<string, string> {
  const entries = Object.values(settings).map(({ env, key, summary, fallback = '', isLive }) => {
    const mark = isLive === true ? '; taken at a reload' : '';
    return `\n# ${key}: ${summary}${mark}\n#${env}=${toValue(fallback)}\n`;
  });
  return { 'etc/remora/agent.env': `${AGENT_HEAD}${entries.join('')}`, 'etc/remora/platform.env': PLATFORM };
}

/** The value as systemd reads it: quoted where there is more than one word. */
function toValue(text: string): string {
  return /^[\w./:,@%+-]*$/.test(text) ? text : `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
}
