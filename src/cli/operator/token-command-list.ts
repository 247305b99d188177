// The definitions of the commands of tokens: names, operands, flags, and what to load.
import type { Word } from './operator-command.ts';

export const tokenCommands: readonly Word[] = [
  {
    name: 'token list',
    summary: 'the tokens without their text, in the order in which they were made',
    load: async () => (await import('./token-commands.ts')).listTokens,
  },
  {
    name: 'token create',
    summary: 'make a token, which is printed this once; it may do no more than the one that makes it',
    flags: {
      sprite: { type: 'string', value: 'NAME', summary: 'of this sprite and not of the whole organization' },
      name: { type: 'string', value: 'TEXT', summary: 'what it is for' },
      user: { type: 'string', value: 'TEXT', summary: 'whom it is for' },
      expires: { type: 'string', value: 'TIME', summary: 'good for so long, such as 12h or 90d' },
      'read-only': { type: 'boolean', summary: 'opens what changes nothing' },
    },
    load: async () => (await import('./token-commands.ts')).createToken,
  },
  {
    name: 'token delete',
    also: ['token revoke'],
    summary: 'revoke a token; what was begun with it ends within two seconds',
    operands: ['ID'],
    load: async () => (await import('./token-commands.ts')).deleteToken,
  },
];
