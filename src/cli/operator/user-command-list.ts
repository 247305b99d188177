// The definitions of the commands of users: names, operands, flags, and what to load.
import type { Flag } from '../command.ts';
import type { Word } from './operator-command.ts';

const organization: Flag = { type: 'string', value: 'NAME', summary: 'the organization' };
const role: Flag = { type: 'string', value: 'admin|member', summary: 'what the user may do there (member)' };

export const userCommands: readonly Word[] = [
  {
    name: 'user list',
    scope: 'operator',
    summary: 'the users with their aliases and organizations, on the machine of the platform',
    flags: { organization: { ...organization, summary: 'of this organization only' } },
    load: async () => (await import('./user-commands.ts')).listUsers,
  },
  {
    name: 'user create',
    scope: 'operator',
    summary: 'make a user who can sign on at providers; the password is printed this once',
    operands: ['EMAIL'],
    flags: {
      name: { type: 'string', value: 'NAME', summary: 'as providers show it (the part of EMAIL before the @)' },
      organization,
      role,
    },
    load: async () => (await import('./user-commands.ts')).createUser,
  },
  {
    name: 'user set-role',
    scope: 'operator',
    summary: 'make a user a member of an organization, or change the role there',
    operands: ['EMAIL'],
    flags: { organization, role },
    load: async () => (await import('./user-commands.ts')).setRole,
  },
  {
    name: 'user remove',
    scope: 'operator',
    summary: 'take a user out of an organization; sign-ons for it end',
    operands: ['EMAIL'],
    flags: { organization },
    load: async () => (await import('./user-commands.ts')).removeMember,
  },
  {
    name: 'user reset-password',
    scope: 'operator',
    summary: 'give a user a new password, which is printed this once; sessions in browsers end',
    operands: ['EMAIL'],
    load: async () => (await import('./user-commands.ts')).resetPassword,
  },
  {
    name: 'user delete',
    scope: 'operator',
    summary: 'delete a user; the alias ends, and so does each sign-on',
    operands: ['EMAIL'],
    load: async () => (await import('./user-commands.ts')).deleteUser,
  },
];
