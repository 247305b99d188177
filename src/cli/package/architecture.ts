// The processors for which there is a package: the name that Debian has for each, and the one of Node.

export const architectures = { amd64: 'x64', arm64: 'arm64' } as const;
export type Architecture = keyof typeof architectures;

export function isArchitecture(text: string): text is Architecture {
  return Object.hasOwn(architectures, text);
}

/** That of this machine. Throws on another one. */
export function toOwnArchitecture(arch: string = process.arch): Architecture {
  const own = Object.entries(architectures).find(([, name]) => name === arch)?.[0];
  if (own === undefined || !isArchitecture(own)) throw new Error(`there is no package for the processor ${arch}`);
  return own;
}
