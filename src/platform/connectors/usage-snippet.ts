// A shell command that calls the gateway from anywhere, for users to paste. Pure.
import { toShellWord } from '../../core/shell-word.ts';

const VARIABLE = 'REMORA_SPRITE_TOKEN';
/** The shell itself says so when the variable is not set. */
const TOKEN = `$\{${VARIABLE}:?set it to the token of a sprite that may use this connector}`;

/** The agent makes another command for use inside a sprite, without a token. The URL comes last, where a reader finds it. */
export function toUsageSnippet(url: string): string {
  return `curl -H "Authorization: Bearer ${TOKEN}" ${toShellWord(url)}`;
}
