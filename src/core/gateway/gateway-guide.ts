// How to use the gateway, as a page for language models and for people who do not know it, made for one caller. Pure.

export interface GuideConnection {
  readonly id: string;
  readonly provider: string;
  readonly display_name: string;
  readonly description?: string | undefined;
  readonly base_url: string;
  /** A line for a shell. */
  readonly snippet: string;
}

export interface GuideOptions {
  /** The origin that stands in front of every path. */
  readonly origin: string;
  /** How a caller reaches the origin, when a URL alone does not say it. */
  readonly reach?: string | undefined;
  readonly connections: readonly GuideConnection[];
}

/** Advice for each refusal that a program can do something about. */
const advice = [
  ['`connection_denied` 403', 'the connector is not for this sprite; a person has to change its access policy'],
  ['`endpoint_blocked`, `endpoint_not_allowed` 403', 'this path is not allowed; use another, or ask a person'],
  ['`authorization_ended` 403', 'a person has to authorize the connector again'],
  ['`record_altered` 409', 'a person has to look: the record of the connector was changed outside the platform'],
  ['`unknown_connector` 404', 'read the list again'],
  ['`invalid_target` 400', 'write the path plainly, without dot segments or escaped slashes'],
  ['`too_many_requests` 429', 'wait for `Retry-After`'],
  ['`suspending`, `resuming` 503', 'wait for `Retry-After`, then repeat'],
  ['`outcome_unknown` 502', 'it may have been carried out: ask the provider before you repeat it'],
] as const;

/** A reader needs examples, and the page is made in one turn of the event loop. */
const SHOWN = 500;

/** The guide as Markdown. It shows at most 500 connectors and says how many more there are. */
export function toGatewayGuide({ origin, reach, connections }: GuideOptions): string {
  const listed = connections.slice(0, SHOWN).flatMap((connection) => [...toLines(connection), '']);
  if (connections.length > SHOWN)
    listed.push(`And ${connections.length - SHOWN} more, which the list below names.`, '');
  return [
    '# The gateway',
    '',
    'It calls third-party providers for you. Send the request that the provider documents to the base URL of a connector, with',
    'any method, headers and body; streams and WebSockets work. The credential is put in on the way: you have none, need none',
    'and must send none. An SDK takes the base URL, and any text as its key.',
    ...(reach === undefined ? [] : ['', reach]),
    '',
    '## Connectors that you may use',
    '',
    ...(listed.length > 0 ? listed : ['None now. A person has to create one, or to change an access policy.', '']),
    '## When a call fails',
    '',
    'An answer with the header `remora-error` is of the gateway, and its body is `{"error","message","details"?}`. Every other',
    'answer is the provider’s own.',
    '',
    ...advice.map(([code, what]) => `- ${code}: ${what}`),
    '',
    '## To find out more',
    '',
    `- \`GET ${origin}/v1/gateway/list\`: these connectors as JSON`,
    `- \`GET ${origin}/v1/gateway/providers\`: every provider, with its documentation and how a connector is made`,
    `- \`POST ${origin}/v1/gateway/explain\` with \`{"provider","connector_id","method","path"}\`: what would happen to a call, and`,
    '  why; nothing is sent',
    `- \`GET ${origin}/openapi.json\`: everything that is served here`,
    '',
  ].join('\n');
}

function toLines({ id, provider, display_name, description, base_url, snippet }: GuideConnection): string[] {
  return [
    `- ${plain(display_name)} (\`${provider}\`, connector \`${id}\`)${description === undefined ? '' : `: ${plain(description)}`}`,
    `  - base URL: \`${base_url}\``,
    `  - try: \`${snippet}\``,
  ];
}

/** The text on one line, whatever name a provider or a user has chosen. */
function plain(text: string): string {
  return text.replaceAll(/[\p{Cc}`\s]+/gu, ' ').trim();
}
