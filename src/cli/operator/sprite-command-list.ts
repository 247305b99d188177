// The definitions of the commands of sprites: names, operands, flags, and what to load.
import type { Word } from './operator-command.ts';

const change = {
  labels: { type: 'string', value: 'A,B', summary: 'labels, which access policies of connectors may name' },
  auth: { type: 'string', value: 'WHO', summary: 'whose the URL is: sprite or public' },
  'private-access': { type: 'string', value: 'WHO', summary: 'of a URL that is not public: admins or organization' },
} as const;

export const spriteCommands: readonly Word[] = [
  {
    name: 'sprite list',
    summary: 'the sprites by name, with what they do',
    flags: { prefix: { type: 'string', value: 'TEXT', summary: 'those whose names begin like this' } },
    load: async () => (await import('./sprite-commands.ts')).listSprites,
  },
  {
    name: 'sprite show',
    summary: 'one sprite',
    operands: ['NAME'],
    load: async () => (await import('./sprite-commands.ts')).showSprite,
  },
  {
    name: 'sprite create',
    summary: 'make a sprite',
    operands: ['NAME'],
    flags: {
      ...change,
      app: { type: 'string', value: 'NAME', summary: 'the app of its machine (the one named like the organization)' },
      external: {
        type: 'boolean',
        summary: 'its machine is run elsewhere, with an agent that has a token of the sprite',
      },
    },
    load: async () => (await import('./sprite-commands.ts')).createSprite,
  },
  {
    name: 'sprite update',
    summary: 'change what is named, and leave the rest',
    operands: ['NAME'],
    flags: change,
    load: async () => (await import('./sprite-commands.ts')).updateSprite,
  },
  {
    name: 'sprite delete',
    summary: 'delete a sprite with its machine, its files and its tokens',
    operands: ['NAME'],
    load: async () => (await import('./sprite-commands.ts')).deleteSprite,
  },
];
