// What a function of a provider, or a store of its own, may return.

export type Awaitable<T> = T | PromiseLike<T>;
