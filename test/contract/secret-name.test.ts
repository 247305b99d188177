// Which variables may be secrets of an app: nothing that decides what a program loads, trusts, finds, or takes itself for.
import { expect, test } from 'vitest';
import { whyNotSecretName } from '../../src/contract/secret-name.ts';

const REFUSED = `
PATH HOME USER LOGNAME SHELL PWD OLDPWD CDPATH ENV BASH_ENV BASHOPTS SHELLOPTS PROMPT_COMMAND PS4 IFS TMPDIR ZDOTDIR
GCONV_PATH GLIBC_TUNABLES LOCPATH HOSTALIASES JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS _JAVA_OPTIONS DOTNET_STARTUP_HOOKS PERLLIB PHPRC PHP_INI_SCAN_DIR
LUA_INIT LUA_INIT_5_4 LUA_PATH LUA_CPATH OPENSSL_CONF OPENSSL_ENGINES OPENSSL_MODULES CURL_CA_BUNDLE REQUESTS_CA_BUNDLE
EDITOR VISUAL PAGER BROWSER LESSOPEN LESSCLOSE
LD_PRELOAD LD_LIBRARY_PATH LD_ANYTHING DYLD_INSERT_LIBRARIES NODE_OPTIONS NODE_EXTRA_CA_CERTS NPM_CONFIG_PREFIX PYTHONPATH PYTHONSTARTUP
PERL5LIB PERL5OPT RUBYOPT RUBYLIB GIT_SSH_COMMAND GIT_CONFIG_COUNT SSH_AUTH_SOCK SSL_CERT_FILE SSL_CERT_DIR FLY_APP_NAME FLY_API_TOKEN
REMORA_TOKEN REMORA_SERVICE REMORA_VARIABLES_0 http_proxy HTTPS_PROXY All_Proxy no_proxy _proxy
`;
const TAKEN = `
DATABASE_URL KV_KEY _ a A1 PATHS MY_PATH HOMEPAGE USERNAME SHELLS ENVIRONMENT LDAP_URL NODEJS GITHUB_TOKEN SSLKEY FLYWAY_URL REMORAX proxy_url PROXY
AWS_SECRET_ACCESS_KEY TZ JAVA_HOME
`;
const words = (text: string) => text.trim().split(/\s+/);

test.each(words(REFUSED))('%s is refused', (name) => {
  expect(whyNotSecretName(name)).toMatch(/decides what programs load/);
});

test.each(words(TAKEN))('%s is taken', (name) => {
  expect(whyNotSecretName(name)).toBeUndefined();
});

test.each(['', '1A', 'A-B', 'A.B', 'A B', 'A\n', 'Ä', 'A=B', 'x'.repeat(129)])('%j is no name', (name) => {
  expect(whyNotSecretName(name)).toMatch(/^expected 1 to 128 letters/);
});

test('128 characters are a name', () => {
  expect(whyNotSecretName('x'.repeat(128))).toBeUndefined();
});
