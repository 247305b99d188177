// Every preset that a rule can include, by its name.
import { codeHosts } from './code-hosts.ts';
import { modelProviders } from './model-providers.ts';
import type { NetworkPreset } from './network-preset.ts';
import { packageKinds, packageRegistries } from './package-registries.ts';

const groups = [codeHosts, packageRegistries, modelProviders];

const defaults: NetworkPreset = {
  name: 'defaults',
  date:
    groups
      .map(({ date }) => date)
      .sort()
      .at(-1) ?? '',
  about: 'hosts of source code, registries of packages, and providers of language models',
  domains: [...new Set(groups.flatMap(({ domains }) => domains))],
};

export const networkPresets: ReadonlyMap<string, NetworkPreset> = new Map(
  [defaults, ...groups, ...packageKinds].map((preset) => [preset.name, preset]),
);
