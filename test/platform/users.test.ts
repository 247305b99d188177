// Users: the operator makes them, their passwords are checked and never kept, their aliases stay, and both databases hold them.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { Secret } from '../../src/core/secret.ts';
import { createOrganizationStore } from '../../src/platform/organizations/organization-store.ts';
import { createPasswords } from '../../src/platform/users/passwords.ts';
import { createUserStore } from '../../src/platform/users/user-store.ts';
import { openTestPlatform, type TestPlatform } from '../support/open-platform.ts';
import { runHere } from '../support/run-here.ts';
import { toTestStorages } from '../support/test-storages.ts';

const cheap = { N: 1024, r: 8, p: 1 };

describe.each(toTestStorages())('in $name', ({ skip, start, end, create }) => {
  beforeAll(start);
  afterAll(end);

  async function open() {
    const storage = await (await create())();
    onTestFinished(() => storage[Symbol.asyncDispose]());
    const organizations = createOrganizationStore(storage);
    return { storage, organizations, users: createUserStore(storage) };
  }

  test.skipIf(skip)('one person has one email address, whatever its case, and one alias for ever', async () => {
    const { users } = await open();
    const user = await users.create({ name: 'Ada', email: 'Ada@example.com', password_hash: 'x' }, 5);
    expect(user.email_alias).toMatch(/^u-[0-9a-f]{20}@users\.invalid$/);
    await expect(users.create({ name: 'A', email: 'ada@EXAMPLE.com', password_hash: 'x' }, 6)).rejects.toMatchObject({
      code: 'already_exists',
    });
    await users.setAliasDomain('Alias.example');
    expect(await users.findByEmail('ADA@example.com')).toEqual(user);
    const later = await users.create({ name: 'B', email: 'b@example.com', password_hash: 'x' }, 7);
    expect(later.email_alias).toMatch(/^u-[0-9a-f]{20}@alias\.example$/);
    expect(await users.find(user.id)).toEqual(user);
  });

  test.skipIf(skip)(
    'members have roles, an alias ends with the last membership, an organization has one alias',
    async () => {
      const { organizations, users } = await open();
      const acme = await organizations.create('acme', 1);
      const other = await organizations.create('other', 1);
      const user = await users.create({ name: 'Ada', email: 'a@example.com', password_hash: 'x' }, 5);
      expect(await users.findByAlias(user.email_alias)).toBeUndefined();
      await users.setRole(acme.id, user.id, 'member', 6);
      await users.setRole(acme.id, user.id, 'admin', 7);
      await users.setRole(other.id, user.id, 'member', 8);
      expect(await users.roleIn(acme.id, user.id)).toBe('admin');
      expect(await users.listMembers(acme.id)).toEqual([{ user, role: 'admin' }]);
      expect((await users.listMemberships(user.id)).map((each) => [each.organization, each.role])).toEqual([
        ['acme', 'admin'],
        ['other', 'member'],
      ]);
      expect(await users.findByAlias(user.email_alias.toUpperCase())).toEqual({ kind: 'user', user });
      const aliases = await Promise.all([1, 2, 3].map(() => users.organizationAlias(acme.id)));
      expect(new Set(aliases).size).toBe(1);
      expect(await users.findByAlias(aliases[0] ?? '')).toEqual({ kind: 'organization', organization_id: acme.id });
      expect(await users.removeMember(acme.id, user.id)).toBe(true);
      expect(await users.removeMember(acme.id, user.id)).toBe(false);
      expect(await users.roleIn(acme.id, user.id)).toBeUndefined();
      await organizations.delete(other.id);
      await organizations.delete(acme.id);
      expect(await users.findByAlias(user.email_alias)).toBeUndefined();
      expect(await users.findByAlias(aliases[0] ?? '')).toBeUndefined();
      expect(await users.delete(user.id)).toBe(true);
      expect(await users.delete(user.id)).toBe(false);
    },
  );
});

describe('passwords', () => {
  test('a password is good for its own hash only, and no hash is like another', async () => {
    const passwords = createPasswords(cheap);
    const [one, other] = await Promise.all([1, 2].map(() => passwords.hash(new Secret('right'))));
    expect(one).not.toBe(other);
    expect(await passwords.check(new Secret('right'), one)).toBe(true);
    expect(await passwords.check(new Secret('wrong'), one)).toBe(false);
    expect(await passwords.check(new Secret('right'), undefined)).toBe(false);
    expect(await passwords.check(new Secret(''), 'scrypt$1$1$1$$')).toBe(false);
  });

  test('those that wait are bounded, and the others are all answered', async () => {
    const passwords = createPasswords(cheap);
    const all = await Promise.allSettled(Array.from({ length: 60 }, () => passwords.hash(new Secret('x'))));
    const refused = all.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
    expect(refused).toHaveLength(60 - 34);
    expect(refused[0]).toMatchObject({ code: 'too_many_requests', retryAfter_ms: 1_000 });
    expect(await passwords.check(new Secret('x'), await passwords.hash(new Secret('x')))).toBe(true);
  });
});

const runners = [
  ['at its own socket', async (platform: TestPlatform) => platform],
  [
    'beside one that does not run',
    async (platform: TestPlatform) => {
      await platform[Symbol.asyncDispose]();
      return platform;
    },
  ],
] as const;

describe.each(runners)('the operator, %s', (_, prepare) => {
  test('makes a user, changes the role, draws a new password, and deletes the user', async () => {
    const platform = await prepare(await openTestPlatform());
    const run = (...words: string[]) => runHere(['platform', 'user', ...words, '--dir', platform.dir]);
    const json = async (...words: string[]) => {
      const { code, out, err } = await run(...words, '--json');
      expect({ code, err }).toEqual({ code: 0, err: '' });
      return JSON.parse(out);
    };
    const of = ['--organization', 'acme'];
    const made = await json('create', 'ada@example.com', '--name', 'Ada L', ...of, '--role', 'admin');
    expect(Object.keys(made).sort()).toEqual(['email_alias', 'password', 'user_id']);
    expect(made).toMatchObject({ user_id: expect.stringMatching(/^user_[0-9a-f]{20}$/) });
    expect(made.password.length).toBeGreaterThanOrEqual(20);
    const { users, organization_alias } = await json('list', ...of);
    expect(organization_alias).toMatch(/^o-[0-9a-f]{20}@users\.invalid$/);
    expect(users).toMatchObject([{ id: made.user_id, name: 'Ada L', organizations: [{ role: 'admin' }] }]);
    expect(JSON.stringify(users)).not.toContain('scrypt');
    expect(await json('set-role', 'ADA@example.com', ...of)).toMatchObject({ organizations: [{ role: 'member' }] });
    const changed = await json('reset-password', made.user_id);
    expect(changed.password).not.toBe(made.password);
    expect((await run('list')).out).toMatch(
      /\nuser_\w+ +Ada L +ada@example\.com +u-\w+@users\.invalid +acme \(member\)/,
    );
    expect(await json('remove', 'ada@example.com', ...of)).toEqual({
      removed: 'ada@example.com',
      organization: 'acme',
    });
    expect(await run('remove', 'ada@example.com', ...of)).toMatchObject({
      code: 1,
      err: expect.stringMatching('no member'),
    });
    expect((await run('delete', 'ada@example.com')).out).toBe('ada@example.com is deleted');
    expect(await json('list')).toEqual({ users: [] });
    const database = readFileSync(join(platform.dir, 'platform.db'), 'latin1');
    expect(database).not.toContain(made.password);
  });
});

test('what is no address, no role, no name or no organization is refused', async () => {
  const { dir } = await openTestPlatform();
  const run = (...words: string[]) => runHere(['platform', 'user', 'create', ...words, '--dir', dir]);
  expect(await run('a@example.com')).toMatchObject({ code: 2, err: expect.stringContaining('--organization') });
  const acme = ['--organization', 'acme'];
  expect(await run('a@example.com', ...acme, '--role', 'owner')).toMatchObject({ code: 2 });
  for (const email of ['no-address', 'a@b', 'a@example.com\r\nBcc: b@example.com', `${'a'.repeat(250)}@example.com`]) {
    expect(await run(email, ...acme), email).toMatchObject({
      code: 1,
      err: expect.stringContaining('invalid_request'),
    });
  }
  expect(await run('a@example.com', ...acme, '--name', 'a\u0007b')).toMatchObject({ code: 1 });
  expect(await run('a@example.com', '--organization', 'none')).toMatchObject({
    code: 1,
    err: expect.stringContaining('not_found'),
  });
  expect(await run('a@example.com', ...acme)).toMatchObject({ code: 0, out: expect.stringMatching(/^\S{20}$/) });
  expect(await run('A@example.com', ...acme)).toMatchObject({
    code: 1,
    err: expect.stringContaining('already_exists'),
  });
});

test('an organization with members is deleted, and its members stay users', async () => {
  const { dir } = await openTestPlatform();
  const run = (...words: string[]) => runHere(['platform', ...words, '--dir', dir]);
  await run('user', 'create', 'a@example.com', '--organization', 'acme');
  expect(await run('organization', 'delete', 'acme')).toMatchObject({ code: 0, err: '' });
  expect(JSON.parse((await run('user', 'list', '--json')).out)).toMatchObject({ users: [{ organizations: [] }] });
});
