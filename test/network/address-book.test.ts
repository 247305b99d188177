import { describe, expect, test } from 'vitest';
import { AddressBook } from '../../src/network/address-book.ts';

const A = '93.184.0.1';

describe('an address', () => {
  test('is open a little longer than its answer lives, and is told to the kernel when that comes near', () => {
    const book = new AddressBook();
    expect(book.learn('a.example', [{ destination: A, open_s: 60 }], 0)).toEqual({
      opened: [{ destination: A, ttl_s: 75 }],
      closed: [],
    });
    expect(book.learn('a.example', [{ destination: A, open_s: 60 }], 10_000).opened).toEqual([]);
    expect(book.learn('a.example', [{ destination: A, open_s: 60 }], 16_000).opened).toEqual([
      { destination: A, ttl_s: 75 },
    ]);
    expect(book.find(A, 90_999)).toEqual({ names: ['a.example'], is_open: true });
    expect(book.find(A, 91_000)).toEqual({ names: ['a.example'], is_open: false });
    expect(book.open(31_000)).toEqual([{ destination: A, ttl_s: 60 }]);
    expect(book.open(91_000)).toEqual([]);
  });

  test.each([
    [1, 2],
    [300, 330],
    [86_400, 86_430],
  ])('of an answer that lives %i s is open for %i s', (open_s, ttl_s) => {
    expect(new AddressBook().learn('a.example', [{ destination: A, open_s }], 0).opened).toEqual([
      { destination: A, ttl_s },
    ]);
  });

  test('of two names stays while one of them is allowed, and is closed with the last one', () => {
    const book = new AddressBook();
    book.learn('a.example', [{ destination: A, open_s: 1 }], 0);
    book.learn('b.example', [{ destination: A, open_s: 60 }], 0);
    expect(book.find(A, 0).names).toEqual(['b.example', 'a.example']);
    expect(book.judge((name) => name === 'a.example')).toEqual({ closed: [], kept: [A] });
    expect(book.find(A, 0)).toEqual({ names: ['a.example'], is_open: true });
    expect(book.judge(() => false)).toEqual({ closed: [A], kept: [] });
    expect(book.find(A, 0)).toEqual({ names: [], is_open: false });
  });

  test('is judged with the aliases of its names, those of the last answer', () => {
    const book = new AddressBook();
    const answers = [{ destination: A, open_s: 60 }];
    book.learn('a.example', answers, 0, ['old.example']);
    book.learn('a.example', answers, 0, ['b.example', 'c.example']);
    const seen: string[] = [];
    const isAllowed = (name: string, aliases: readonly string[]) => {
      seen.push([name, ...aliases].join());
      return !aliases.includes('c.example');
    };
    const after = new AddressBook();
    after.restore(JSON.parse(JSON.stringify(book)));
    for (const each of [book, after]) expect(each.judge(isAllowed)).toEqual({ closed: [A], kept: [] });
    expect(seen).toEqual(['a.example,b.example,c.example', 'a.example,b.example,c.example']);
  });

  test('that is not open any more is kept: a connection to it may be open', () => {
    const book = new AddressBook();
    book.learn('a.example', [{ destination: A, open_s: 1 }], 0);
    expect([book.open(60_000), book.judge(() => true)]).toEqual([[], { closed: [], kept: [A] }]);
  });
});

test('it remembers so many addresses, and so many names of one', () => {
  const book = new AddressBook(100);
  const closed: string[] = [];
  for (let index = 0; index < 1_000; index += 1) {
    closed.push(
      ...book.learn('many.example', [{ destination: `20.0.${index >> 8}.${index & 255}`, open_s: 60 }], 0).closed,
    );
    book.learn(`n${index}.example`, [{ destination: A, open_s: 60 }], 0);
  }
  expect([book.size, closed.length, closed[0]]).toEqual([100, 901, '20.0.0.0']);
  expect(book.find(A, 0).names).toEqual(Array.from({ length: 16 }, (_, index) => `n${999 - index}.example`));
  expect(book.find('20.0.0.0', 0).names).toEqual([]);
});

test('it remembers names of so many characters', () => {
  const book = new AddressBook(1_000, 100);
  const learn = (index: number, name: string, aliases: string[] = []) =>
    book.learn(name, [{ destination: `20.0.0.${index}`, open_s: 60 }], 0, aliases).closed;
  expect([learn(1, 'a'.repeat(50)), learn(2, 'b'.repeat(30), ['c'.repeat(20)])]).toEqual([[], []]);
  expect(learn(2, 'b'.repeat(30), ['c'.repeat(20)])).toEqual([]);
  expect(learn(3, 'd')).toEqual(['20.0.0.1']);
  book.judge((name) => name === 'd');
  expect([learn(4, 'e'.repeat(99)), learn(5, 'f'.repeat(200)), book.size]).toEqual([[], ['20.0.0.3', '20.0.0.4'], 1]);
});

test('the process that comes after one knows what that one knew', () => {
  const [before, after] = [new AddressBook(), new AddressBook()];
  before.learn('a.example', [{ destination: A, open_s: 60 }], 0);
  after.restore(JSON.parse(JSON.stringify(before)));
  expect(after.find(A, 74_999)).toEqual({ names: ['a.example'], is_open: true });
  expect(after.learn('a.example', [{ destination: A, open_s: 60 }], 10_000).opened).toEqual([]);
});
