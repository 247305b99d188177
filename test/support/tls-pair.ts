// A key and a certificate that signs itself, made by openssl.
import { execFileSync } from 'node:child_process';
import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { loudly } from './loudly.ts';

export const hasNoOpenssl = loudly(!existsSync('/usr/bin/openssl'), 'no openssl: nothing is tried with TLS');

/** Writes `key.pem` and `cert.pem`, each whole in its place, as a program that renews certificates has it. `hosts`: `DNS:name` and `IP:address`. */
export function makeTlsPair(dir: string, name: string, hosts: readonly string[] = []): void {
  const [key, cert] = [join(dir, 'new.key'), join(dir, 'new.pem')];
  const words = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const names = hosts.length === 0 ? [] : ['-addext', `subjectAltName=${hosts.join(',')}`];
  execFileSync('openssl', [...words, ...names, '-subj', `/CN=${name}`, '-keyout', key, '-out', cert], {
    stdio: 'ignore',
  });
  renameSync(key, join(dir, 'key.pem'));
  renameSync(cert, join(dir, 'cert.pem'));
}
