// The pages of sign-on: plain HTML without scripts. Every text from outside is escaped. Pure.
import { createHash } from 'node:crypto';
import { escapeHtml } from '../../core/escape-html.ts';

export interface PageUser {
  readonly name: string;
  readonly email: string;
}

export interface SignInPage {
  readonly provider: string;
  readonly form_token: string;
  readonly email: string;
  /** What went wrong with the last try. */
  readonly problem: string | undefined;
  /** Where people can sign in instead. */
  readonly other: { readonly name: string; readonly path: string } | undefined;
}

export interface ConsentPage {
  readonly provider: string;
  readonly user: PageUser;
  /** The slugs of the organizations that the provider will see. */
  readonly organizations: readonly string[];
  readonly form_token: string;
  readonly returnsTo: string;
}

/** The answer to a form that was not made for this browser and this request. */
export const STALE = 'This page was open for too long, or was not made for this browser. Please try again.';

const STYLE =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:26rem;margin:4rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}' +
  'label{display:block;margin:1rem 0 .25rem}input{font:inherit;width:100%;box-sizing:border-box;padding:.5rem}' +
  'button{font:inherit;margin:1.25rem .5rem 0 0;padding:.5rem 1rem}.problem{color:#a00000}.quiet{color:#555;font-size:.9rem}';

/** The source of the one style sheet, for `Content-Security-Policy`. */
export const STYLE_SOURCE = `'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`;

export function toSignInPage({ provider, form_token, email, problem, other }: SignInPage): string {
  const focus = (isFirst: boolean) => (isFirst ? ' autofocus' : '');
  return toPage(
    'Sign in',
    `<h1>Sign in</h1>
<p>to continue to <strong>${escapeHtml(provider)}</strong></p>
${problem === undefined ? '' : `<p class="problem" role="alert">${escapeHtml(problem)}</p>`}
<form method="post">
<input type="hidden" name="form_token" value="${escapeHtml(form_token)}">
<label for="email">Email address</label>
<input id="email" name="email" type="email" autocomplete="username" maxlength="254" required value="${escapeHtml(email)}"${focus(email === '')}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" maxlength="1024" required${focus(email !== '')}>
<button name="action" value="sign_in">Sign in</button>
</form>
${other === undefined ? '' : `<p><a href="${escapeHtml(other.path)}">Sign in with ${escapeHtml(other.name)}</a></p>`}`,
  );
}

export function toConsentPage({ provider, user, organizations, form_token, returnsTo }: ConsentPage): string {
  const list = organizations.map((name) => `<li>${escapeHtml(name)}</li>`).join('');
  return toPage(
    `Continue to ${provider}`,
    `<h1>Continue to ${escapeHtml(provider)}?</h1>
<p>You are signed in as <strong>${escapeHtml(user.name)}</strong> (${escapeHtml(user.email)}).</p>
<p><strong>${escapeHtml(provider)}</strong> will know your name, an alias of your email address, and your role in:</p>
<ul>${list}</ul>
<p class="quiet">The alias passes mail on to you. If you answer such a mail, ${escapeHtml(provider)} sees your real address.</p>
<form method="post">
<input type="hidden" name="form_token" value="${escapeHtml(form_token)}">
<button name="action" value="allow">Allow</button>
<button name="action" value="deny">Deny</button>
</form>
<p class="quiet">You return to ${escapeHtml(returnsTo)}. <a href="/oauth/sign-out">Sign out</a></p>`,
  );
}

export function toSignOutPage(user: PageUser | undefined, form_token: string): string {
  if (user === undefined) return toMessagePage('Signed out', 'Nobody is signed in in this browser.');
  return toPage(
    'Sign out',
    `<h1>Sign out</h1>
<p>You are signed in as <strong>${escapeHtml(user.name)}</strong> (${escapeHtml(user.email)}).</p>
<form method="post">
<input type="hidden" name="form_token" value="${escapeHtml(form_token)}">
<button>Sign out</button>
</form>`,
  );
}

export function toMessagePage(title: string, message: string): string {
  return toPage(title, `<h1>${escapeHtml(title)}</h1>\n<p>${escapeHtml(message)}</p>`);
}

function toPage(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
</head>
<body>
${body}
</body>
</html>
`;
}
