// The registries of packages, by what the packages are for. Each kind is a preset of its own.
import type { NetworkPreset } from './network-preset.ts';

const DATE = '2026-11-23';

/** The part of the name after `packages_`, what is in it, and the domains. */
const kinds: readonly (readonly [string, string, readonly string[]])[] = [
  [
    'javascript',
    'packages for Node.js, Deno and Bun',
    [
      ...['registry.npmjs.org', 'registry.npmjs.com', 'registry.yarnpkg.com', 'repo.yarnpkg.com', 'yarnpkg.com'],
      ...['jsr.io', 'npm.jsr.io', 'deno.land', 'dl.deno.land', 'nodejs.org', 'bun.sh'],
    ],
  ],
  [
    'python',
    'packages for Python',
    [
      ...['pypi.org', 'pypi.python.org', '*.pythonhosted.org', 'bootstrap.pypa.io', 'www.python.org'],
      ...['astral.sh', 'releases.astral.sh', 'download.pytorch.org'],
      ...['repo.anaconda.com', 'conda.anaconda.org', 'binstar-cio-packages-prod.s3.amazonaws.com'],
    ],
  ],
  ['ruby', 'packages for Ruby', ['rubygems.org', '*.rubygems.org', 'cache.ruby-lang.org']],
  ['rust', 'packages for Rust', ['crates.io', '*.crates.io', 'static.rust-lang.org', 'sh.rustup.rs']],
  [
    'go',
    'modules for Go',
    ['proxy.golang.org', 'sum.golang.org', 'index.golang.org', 'golang.org', 'go.dev', 'pkg.go.dev', 'dl.google.com'],
  ],
  [
    'java',
    'packages for Java and what runs with it',
    [
      ...['repo.maven.apache.org', 'repo1.maven.org', 'central.sonatype.com', 'oss.sonatype.org', 'maven.google.com'],
      ...['plugins.gradle.org', 'plugins-artifacts.gradle.org', 'services.gradle.org', 'downloads.gradle.org'],
      ...['repo.spring.io', 'repo.clojars.org', 'dl.google.com'],
    ],
  ],
  ['php', 'packages for PHP', ['packagist.org', 'repo.packagist.org', 'getcomposer.org']],
  [
    'dotnet',
    'packages for .NET',
    ['nuget.org', '*.nuget.org', 'dot.net', 'dotnet.microsoft.com', 'builds.dotnet.microsoft.com'],
  ],
  [
    'other_languages',
    'packages for Elixir, Haskell, Dart, R, Perl, Lua, OCaml, Swift and Julia',
    [
      ...['hex.pm', '*.hex.pm', 'hackage.haskell.org', 'downloads.haskell.org', 'pub.dev', 'pub.dartlang.org'],
      ...['cran.r-project.org', 'cloud.r-project.org', 'www.cpan.org', 'cpan.metacpan.org', 'fastapi.metacpan.org'],
      ...['luarocks.org', 'opam.ocaml.org', 'download.swift.org', 'cdn.cocoapods.org'],
      ...['pkg.julialang.org', '*.pkg.julialang.org'],
    ],
  ],
  [
    'system',
    'packages of Linux distributions and for the system',
    [
      ...['deb.debian.org', 'security.debian.org', 'ftp.debian.org', 'snapshot.debian.org'],
      ...['archive.ubuntu.com', '*.archive.ubuntu.com', 'security.ubuntu.com', 'ports.ubuntu.com'],
      ...['ppa.launchpadcontent.net', 'dl-cdn.alpinelinux.org', 'geo.mirror.pkgbuild.com'],
      ...['mirrors.fedoraproject.org', 'download.fedoraproject.org', 'dl.fedoraproject.org'],
      ...['cache.nixos.org', 'channels.nixos.org', 'releases.nixos.org', 'formulae.brew.sh'],
      ...['apt.llvm.org', 'apt.postgresql.org', 'deb.nodesource.com', 'packages.microsoft.com'],
    ],
  ],
  [
    'containers',
    'images of containers',
    [
      ...['docker.io', '*.docker.io', 'download.docker.com'],
      ...['production.cloudflare.docker.com', 'production.cloudfront.docker.com'],
      'docker-images-prod.6aa30f8b08e16409b46e0173d6de2f56.r2.cloudflarestorage.com',
      ...['ghcr.io', 'pkg-containers.githubusercontent.com', 'quay.io', '*.quay.io', 'gcr.io', '*.gcr.io'],
      ...['registry.k8s.io', 'mcr.microsoft.com', '*.data.mcr.microsoft.com', 'public.ecr.aws'],
    ],
  ],
];

export const packageKinds: readonly NetworkPreset[] = kinds.map(([kind, about, domains]) => ({
  name: `packages_${kind}`,
  date: DATE,
  about,
  domains,
}));

export const packageRegistries: NetworkPreset = {
  name: 'package_registries',
  date: DATE,
  about: 'every list of packages',
  domains: [...new Set(packageKinds.flatMap(({ domains }) => domains))],
};
