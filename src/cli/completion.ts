// Shell completion, made from the commands: the words and flags that may follow the words typed so far. Pure.
import type { Command } from './command.ts';
import { namesOf } from './find-command.ts';

export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

interface Next {
  readonly words: Set<string>;
  readonly flags: Set<string>;
}

/** The script that the shell reads. */
export function toCompletion(shell: Shell, commands: readonly Command[]): string {
  const tree = toTree(commands);
  switch (shell) {
    case 'bash':
      return toBash(tree);
    case 'zsh':
      return toZsh(tree);
    case 'fish':
      return toFish(tree);
    default:
      return shell satisfies never;
  }
}

/** Maps the words typed so far, joined by spaces, to what may follow; the empty string is the beginning. */
function toTree(commands: readonly Command[]): Map<string, Next> {
  const tree = new Map<string, Next>();
  const at = (words: string) => {
    const next = tree.get(words) ?? { words: new Set<string>(), flags: new Set(['--help']) };
    tree.set(words, next);
    return next;
  };
  at('').words.add('help');
  for (const command of commands) {
    for (const name of namesOf(command)) {
      const words = name.split(' ');
      for (const [index, word] of words.entries()) at(words.slice(0, index).join(' ')).words.add(word);
      for (const flag of Object.keys(command.flags)) at(name).flags.add(`--${flag}`);
    }
  }
  for (const shell of shells) at('completion').words.add(shell);
  return tree;
}

/** Two functions that print what may follow the words in their argument. */
function toLists(tree: ReadonlyMap<string, Next>): string {
  const list = (pick: keyof Next) =>
    [...tree].map(([words, next]) => `    '${words}') printf '%s' '${[...next[pick]].join(' ')}' ;;`);
  return `_remora_words() {
  case "$1" in
${list('words').join('\n')}
  esac
}
_remora_flags() {
  case "$1" in
${list('flags').join('\n')}
  esac
}`;
}

function toBash(tree: ReadonlyMap<string, Next>): string {
  return `# Completion of remora. bash: eval "$(remora completion bash)"
${toLists(tree)}
_remora() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" key='' next i known
  for ((i = 1; i < COMP_CWORD; i++)); do
    next="\${key:+$key }\${COMP_WORDS[i]}"
    if [[ -z $key && \${COMP_WORDS[i]} == help ]]; then continue; fi
    known="$(_remora_flags "$next")"
    if [[ -z $known ]]; then break; fi
    key="$next"
  done
  if [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$(_remora_flags "$key")" -- "$cur"))
  else
    COMPREPLY=($(compgen -W "$(_remora_words "$key")" -- "$cur"))
  fi
}
complete -o default -F _remora remora
`;
}

/** A file that zsh finds by its first line, or a text that it evaluates. */
function toZsh(tree: ReadonlyMap<string, Next>): string {
  return `#compdef remora
# Completion of remora. zsh: eval "$(remora completion zsh)"
${toLists(tree)}
_remora() {
  local key='' next i
  for ((i = 2; i < CURRENT; i++)); do
    next="\${key:+$key }\${words[i]}"
    if [[ -z $key && \${words[i]} == help ]]; then continue; fi
    if [[ -z "$(_remora_flags "$next")" ]]; then break; fi
    key="$next"
  done
  local -a found
  if [[ $PREFIX == -* ]]; then
    found=(\${=$(_remora_flags "$key")})
  else
    found=(\${=$(_remora_words "$key")})
  fi
  compadd -- $found || _files
}
if [[ $funcstack[1] == _remora ]]; then _remora "$@"; else compdef _remora remora; fi
`;
}

function toFish(tree: ReadonlyMap<string, Next>): string {
  const cases = [...tree].map(
    ([words, next]) => `    case '${words}'\n      printf '%s\\n' ${[...next.words, ...next.flags].join(' ')}`,
  );
  return `# Completion of remora. fish: remora completion fish | source
function __remora_next
  switch "$argv[1]"
${cases.join('\n')}
  end
end
function __remora_candidates
  set -l key ''
  for word in (commandline -opc)[2..-1]
    set -l next (string trim -- "$key $word")
    if test -z "$key" -a "$word" = help
      continue
    end
    if test -z "$(__remora_next $next)"
      break
    end
    set key $next
  end
  __remora_next $key
end
complete -c remora -a '(__remora_candidates)'
`;
}
