// What the documents leave open, and how it is settled here: every choice of our own, with its reason.

export interface Choice {
  readonly topic: string;
  readonly choice: string;
  readonly reason: string;
}

/** In the order of the documents: errors and requests, sprites, connectors, records, extensions, machines, replication. */
export const choices: readonly Choice[] = [
  {
    topic: 'error body',
    choice: '{"error": "<stable_code>", "message": "<text>", "details"?: …} everywhere, also where a stream breaks off',
    reason:
      'One shape for every door; programs read the code, people the message. It is the shape of the sprites service.',
  },
  {
    topic: 'error statuses',
    choice:
      'Each code has one status (errors.ts). Besides 400, 401 and 404: 403, 405, 408, 409, 410, 413 to 415, 421, 422, 429, 5xx',
    reason: 'The documents name three statuses; a caller that retries must be able to tell the rest apart.',
  },
  {
    topic: 'OAuth errors',
    choice: 'The token endpoint answers errors in the same body; a client also reads error_description',
    reason: 'The error field of RFC 6749 and ours have the same name and meaning.',
  },
  {
    topic: 'unknown fields',
    choice: 'Ignored in requests, dropped from answers; an access policy with an unknown field is refused',
    reason: 'The ecosystem adds fields freely. A misspelt block rule, though, would open a path in silence.',
  },
  {
    topic: 'records of another organization',
    choice: '404, as if it did not exist',
    reason: 'A 403 would say that the name is taken somewhere else.',
  },
  {
    topic: 'repeated query parameter',
    choice: '400',
    reason: 'Readers disagree about which one counts, so one of them would be surprised.',
  },
  {
    topic: 'keepalive',
    choice: 'Query parameter of every stream, in seconds, moved into 1 to 300; 15 when absent or not a number',
    reason: 'Proxies differ in patience; zero, negative or huge periods have taken such servers down.',
  },
  {
    topic: 'keep-alive on a stream',
    choice: 'An empty line in NDJSON, a comment line in server-sent events',
    reason: 'Readers of both skip them, and no event type is taken.',
  },
  {
    topic: 'wire encoding of streams',
    choice: 'NDJSON; server-sent events when the caller accepts text/event-stream',
    reason: 'Document 1 gives event shapes and no encoding; NDJSON is what document 3 and the ecosystem use.',
  },
  {
    topic: 'sprite name',
    choice: '1 to 63 lower-case letters, digits and dashes, no dash at either end',
    reason: 'The name becomes part of a host name.',
  },
  {
    topic: 'sprite name taken',
    choice: '409 already_exists',
    reason: 'The request is valid, so 400 would send the caller looking for a mistake in it.',
  },
  {
    topic: 'sprite list order and continuation token',
    choice: 'By name; the token is opaque, has no expiry, and stands for the last name of the page before',
    reason: 'A page then stays right when sprites come and go between two requests, and no state is kept.',
  },
  {
    topic: 'max_results out of range',
    choice: '400 with the field',
    reason: 'A limit that is moved in silence makes a client believe that it has seen everything.',
  },
  {
    topic: 'counts of a sprite list',
    choice: 'Of the sprites in this page',
    reason: 'Document 1: "count of returned sprites".',
  },
  {
    topic: 'sprite update',
    choice: 'PUT /v1/sprites/{name} with url_settings; DELETE answers 204',
    reason: 'The paths are not shown; these are the ones of the sprites service.',
  },
  {
    topic: 'labels of a sprite',
    choice: 'Taken when a sprite is created and updated; an update with labels needs no url_settings, and keeps them',
    reason: 'Policies ask for labels and document 1 shows no way in; clients of the ecosystem send them so.',
  },
  {
    topic: 'private_access in a request',
    choice: 'Taken in url_settings beside auth sprite, refused beside public; one that is not named stays as it is',
    reason: 'Document 1 shows it in the answer and not in the request; without it nobody could ever set it.',
  },
  {
    topic: 'version and environment_version of a sprite',
    choice:
      'version is that of the agent, as its last report said it; environment_version is a setting of the platform; else null',
    reason:
      'Document 1 says "running on the sprite" and "of the image"; the agent knows the first, the operator the second.',
  },
  {
    topic: 'default redirect URI',
    choice:
      'The callback path on the platform; a GET there shows code and state, and only the POST with a token takes them',
    reason: 'A connector that a visit could make would let anybody send a user to a link and get that user’s account.',
  },
  {
    topic: 'state of an authorization',
    choice: 'Taken once, within ten minutes, by the organization and provider that began; the callback needs it',
    reason: 'The request table calls it optional and the answer table a must; without it nobody knows who began.',
  },
  {
    topic: 'scopes and add_scopes together',
    choice: 'add_scopes is added to scopes when both are given, else to what the connectors of the provider have',
    reason: 'Document 1 gives each a meaning alone; this one keeps both.',
  },
  {
    topic: 'authorizing an account again',
    choice:
      'The connector of the same account gets the new credential, keeps its id, and its policy unless one is given; 201',
    reason: 'Its id stands in the URLs of programs, and two connectors of one account would end each other’s tokens.',
  },
  {
    topic: 'authorization that a provider has ended',
    choice:
      'The connector stays and is used while its token is good, then 403 authorization_ended until it is authorized again',
    reason: 'Deleting it would take the policy along and break every URL that names it.',
  },
  {
    topic: 'deleting a connector',
    choice:
      'The credential is deleted first, then ended at the provider where there is a way; a failure there is logged',
    reason: 'The owner’s wish must not hang on the provider.',
  },
  {
    topic: 'metrics of the platform',
    choice: 'GET /metrics asks for no token, and holds no name of an organization, a sprite or a connector',
    reason: 'Who scrapes has no organization; an operator who minds keeps the path inside at the proxy.',
  },
  {
    topic: 'kinds of tokens',
    choice: 'Of an organization or of a sprite, each with full access or read only, with or without an expiry',
    reason: 'Document 1 says that a credential identifies an organization and nothing of scopes.',
  },
  {
    topic: 'running and warm limits',
    choice: '409 limit_reached with the limit and the count, at the start or the suspend that would go beyond it',
    reason: 'Making room by stopping another sprite would take away work that nobody asked to lose.',
  },
  {
    topic: 'connectors and a sprite’s own token',
    choice: 'A sprite may read connectors; only an organization may create, change or delete them',
    reason: 'The agent needs the policies; a process in a sprite must not widen them.',
  },
  {
    topic: 'length of an access policy',
    choice: 'At most 256 rules of 2048 characters a list, 64 labels',
    reason: 'Every call is matched against every rule.',
  },
  {
    topic: 'base_api_url',
    choice:
      'Any provider may be asked for it by the catalogue; which ones need it, and which URLs pass, is decided there',
    reason: 'A custom API has no fixed host either.',
  },
  {
    topic: 'gateway refusals',
    choice: '403 connection_denied, endpoint_blocked, endpoint_not_allowed; 400 invalid_target before any policy',
    reason: 'The texts of the real gateway as codes, so that a refusal is not mistaken for the provider’s.',
  },
  {
    topic: 'gateway list',
    choice: 'GET /v1/gateway/list in the shape of the ecosystem, with the connector’s id besides',
    reason: 'The explain operation and the logs speak of connectors by id.',
  },
  {
    topic: 'dry run of a gateway call',
    choice:
      'POST /v1/gateway/explain on the platform too, with the codes of real calls, the URL behind, and (credential) in place of it',
    reason: 'The platform’s verdict is the one that counts, and only it knows where a call goes and what is put in.',
  },
  {
    topic: 'discovery of the gateway',
    choice:
      'GET /v1/gateway/list in the ecosystem’s shape, /v1/gateway/providers with the whole catalogue, /v1/gateway/guide as a page for models',
    reason:
      'The list has no room for documentation, ways to connect or addresses; a model that reads one page needs no other.',
  },
  {
    topic: 'audit and usage of the gateway',
    choice:
      'A line of the platform’s log for every call, refused ones too; GET /v1/gateway/usage sums by day and connector, written each 5 s',
    reason:
      'A record of each call in the database would cost a write each. A platform that is killed loses sums of five seconds, not the lines.',
  },
  {
    topic: 'httpPort',
    choice: 'Read as http_port in a service definition; http_port wins when both are there',
    reason: 'Clients of the ecosystem send it.',
  },
  {
    topic: 'lists of services and of checkpoints',
    choice: 'A bare JSON array',
    reason: 'No list record is shown for them, and the ecosystem answers arrays.',
  },
  {
    topic: 'uid and gid of a chown request',
    choice:
      'Any number, name or object is read; a number or a name can be used, anything else is refused by the operation',
    reason: 'Document 1 types them as "object", which its source uses for "any value".',
  },
  {
    topic: 'file deletion',
    choice: 'DELETE with the fields of DeleteRequest in the query',
    reason: 'Many clients and proxies drop the body of a DELETE.',
  },
  {
    topic: 'port pid',
    choice: '0 when the process could not be found',
    reason: 'Document 1 gives an integer, and another user’s process cannot always be seen.',
  },
  {
    topic: 'port address',
    choice:
      'The sprite’s URL with the port; http://{sprite}:{port} until that URL is known; by setting a template or the bind address',
    reason: 'Document 1 says "proxy URL" and not how it is made; the live service sends the bind address.',
  },
  {
    topic: 'one port, several sockets',
    choice:
      'Dual stack, several addresses and SO_REUSEPORT are one port, open while one socket has been there all the time; its pid is that of the socket known longest',
    reason: 'The message has one port and one pid; a helper that joins or leaves changes nothing for who connects.',
  },
  {
    topic: 'port whose process is not visible yet',
    choice: 'Announced up to two scans later, with the pid if it was found by then, else 0',
    reason: 'One event with the pid is worth more than a quick one without it, and two would count twice.',
  },
  {
    topic: 'classes of listeners',
    choice:
      'GET /v1/ports gives each announced one a class, app or system, and lists what is not announced, own or ignored, under left_out',
    reason: 'The message has no room for it, and a port that is missing from the list must be explainable.',
  },
  {
    topic: 'end of a port watch over a WebSocket',
    choice:
      '1000 when it is over, 1001 when the agent stops, 1008 with the error code in the reason; keep-alive is a ping each 15 s',
    reason: 'Clients of sprites take every text frame for an event, so nothing else may be sent as one.',
  },
  {
    topic: 'port wait',
    choice:
      'At most 60 s, also when not said; until=http is any HTTP answer to GET /, whatever its status; 408 timeout when it is not so in time',
    reason: 'The limit of the machines API. An application may well answer 404 or 500 at / and be up.',
  },
  {
    topic: 'port notices',
    choice:
      'POST /v1/sprites/{name}/ports/notices with a list in order, idempotent by id; GET /v1/sprites/{name}/ports',
    reason: 'The path is not shown. An outbox that sends again needs ids, and order makes the last word the true one.',
  },
  {
    topic: 'extension status and removal',
    choice:
      'GET and DELETE {provider_base_url}/extensions/{extension_id}, signed in the query; 200 with the resource, 204',
    reason: 'Document 2 speaks of the GET endpoint of a resource without its path; this is where it would be.',
  },
  {
    topic: 'answer to an extension update',
    choice: 'Any part of the provisioning response, also an empty object',
    reason: 'Not shown; an update may change the configuration, and a provider may have nothing to say.',
  },
  {
    topic: 'signature encoding',
    choice: 'Lower-case hex is sent; hex in any case, with or without sha256= before it, and base64 are read',
    reason: 'Not published; these are the three that signers use, and none can be taken for another.',
  },
  {
    topic: 'signature window',
    choice:
      '300 s either way; a nonce counts once and is kept for 600 s, and is recorded only after the signature holds',
    reason: 'A GET’s signature fits a DELETE of the same URL, so that the nonce is what tells them apart.',
  },
  {
    topic: 'webhook timestamp',
    choice: 'Text is sent; text and number are read',
    reason: 'The examples of document 2 show text where its field list says UNIX time.',
  },
  {
    topic: 'answer to a webhook',
    choice: '204 without a body; any 2xx is taken',
    reason: 'Not shown, and there is nothing to say.',
  },
  {
    topic: 'CloudEvents',
    choice: 'Binary mode: ce- headers, values percent-encoded, the same ce-id when sent again',
    reason: 'Document 2 puts the attributes into HTTP headers, which is what binary mode means.',
  },
  {
    topic: 'sign-on query',
    choice: 'organization_id carries the organization; state is passed back; scope may be left out and is read then',
    reason: 'Document 2 says that the organization is passed without naming the parameter; state is RFC 6749’s.',
  },
  {
    topic: 'machine status words',
    choice: 'started is read as running everywhere; running is what is emitted',
    reason: 'The wire of the real service says started where document 3 says running.',
  },
  {
    topic: 'answers of suspend, stop, wait and start',
    choice: '{"ok":true}, and for start the previous state; suspend answers when it is accepted, before the freeze',
    reason: 'Not shown in document 3; these are the answers of the real service.',
  },
  {
    topic: 'wait',
    choice:
      '200 when the state is reached or is so already, 408 at the limit, 409 when it can no longer come; timeout moved into 1 to 60 s',
    reason: 'A waiter must be able to tell "not yet" from "never".',
  },
  {
    topic: 'instance_id',
    choice: 'New at every boot, kept over a resume and shown until the next boot',
    reason: 'A waiter for a state must not be satisfied, or kept waiting, by another life of the machine.',
  },
  {
    topic: 'crash of a machine',
    choice: 'The state becomes stopped, with last_exit.requested false; nothing starts it again by itself',
    reason: 'Document 3 has no failed state, and a machine that restarts for ever hides what is wrong with it.',
  },
  {
    topic: 'start and stop of a machine that is so already',
    choice: '200 and nothing happens; a start during suspending calls the suspend off',
    reason: 'Callers repeat what they got no answer to; document 3 lets a request interrupt a suspend.',
  },
  {
    topic: 'answer to a stop',
    choice: 'At once; the state is stopped when nothing of the machine runs, which the wait operation tells',
    reason: 'A machine that stops itself could not end before its own call is answered.',
  },
  {
    topic: 'app of a machine',
    choice: 'The slug of the organization of its sprite',
    reason: 'Document 3 addresses machines by application, and document 1 knows organizations only.',
  },
  {
    topic: 'machine driver in the configuration',
    choice: 'config.driver names how a machine is run; process shares memory and swap with its host',
    reason: 'Eligibility read from the host’s memory would be wrong for such a machine.',
  },
  {
    topic: 'type of the event stream',
    choice: 'GET /events of a node answers application/json, one value a line',
    reason: 'That is what the real node sends; readers that look at the type then see what they know.',
  },
  {
    topic: 'events without data',
    choice:
      'init and primaryChange may come without data or hostname: no primary is known; tx needs its database and position',
    reason: 'Empty fields are left out by the real node, and a transaction without them says nothing.',
  },
  {
    topic: 'replication state of a database',
    choice: 'live, stale, rewound, diverged, dropped',
    reason:
      'Ids that go back or repeat with another checksum happen after a split; they are reported, never assumed away.',
  },
  {
    topic: 'sample provider echo',
    choice:
      'headers are echoed, but a credential only as its scheme, four characters and its length: "Bearer sk-s…(42 chars)"',
    reason:
      'The echo goes back to a caller who may use a credential and never see it. The length and beginning show that it arrived.',
  },
  {
    topic: 'development database node',
    choice:
      'As a replica its file goes on changing. POST /role and POST /restart are switches of ours; ids are the change counter of the file',
    reason: 'A replica publishes the transactions of its primary, so a follower must go on seeing some.',
  },
  {
    topic: 'what live means',
    choice:
      'A transaction of that database came on the connection of now, and the cache can be written; all else is stale, with a reason',
    reason: 'init carries no positions and the node replays nothing, so that an old position may have been passed by.',
  },
  {
    topic: 'primary of the node',
    choice: 'primary is "self", "remote" or "unknown", with hostname beside it for remote; unknown while not connected',
    reason: 'A word is easy to test for in a script, and a node that cannot be asked says nothing about now.',
  },
  {
    topic: 'readers of /events while the node is away',
    choice: 'Open streams end when the connection to the node ends; new ones stay open and get init once it is back',
    reason: 'An end is what the node itself shows for a possible gap; a refusal would make clients dial in a loop.',
  },
  {
    topic: 'lines of /events',
    choice: 'As the node sent them, unknown types and fields too; no keep-alive line unless keepalive asks for it',
    reason: 'Clients of the node parse every line, and many do not expect an empty one.',
  },
  {
    topic: 'since of /events',
    choice:
      'A cursor of ours: with since (a cursor, 0 or now) the lines carry cursor, what the cache holds comes first, and gaps are lines of type gap',
    reason:
      'The node replays nothing. Without since the lines are the node’s own, so that existing clients see nothing new.',
  },
  {
    topic: 'positions after a reconnect',
    choice:
      'By setting read from the mounted directory of the node, 250 ms after init, for databases of which nothing has come by then; what lies between is a gap',
    reason:
      'init carries no positions, and a quiet database would stay stale. A transaction on its way must not look like one that goes back.',
  },
  {
    topic: 'directory for clients that read files',
    choice:
      'By setting the agent keeps .primary and <db>-pos; .primary goes away only when this node is the primary, and stays while none is known',
    reason:
      'litefs-js takes a missing .primary for "this is the primary". A replica that writes because its node is away loses what it writes.',
  },
  {
    topic: 'cookies for reading one’s own writes',
    choice:
      'token gives __txid and txnum; wait takes txid, txnum, or a Cookie header as it came: the later of its valid values counts, without one it answers at once',
    reason:
      'The node’s proxy and litefs-js have one each. A client without a cookie has not written and waits for nothing.',
  },
  {
    topic: 'waiting for a transaction',
    choice:
      'txid is 1 to 16 hex digits, filled up on the left; a database not seen yet is waited for; timeout moved into 0 to 300 s, 30 by default',
    reason: 'The first transaction of a database makes it known, and people leave out leading zeros.',
  },
  {
    topic: 'cursor of cached transactions',
    choice: 'after is a txID as in wait; cursor is next of an earlier answer; not both',
    reason: 'A txID is what applications have; only the order of arrival is safe where ids go back.',
  },
  {
    topic: 'gap rows',
    choice: 'from and to are the first and last missing ids; cause says why they are missing',
    reason:
      'Older than the first one seen, lost while disconnected, left out, not saved and let go mean different things.',
  },
  {
    topic: 'lag',
    choice: 'Arrival minus timestamp, at least 0; timestamp is passed on as the node wrote it',
    reason: 'Document 3: the clocks of two servers may differ. A negative lag would only say so.',
  },
  {
    topic: 'poke after a resume',
    choice: 'POST /v1/machine/resumed answers 202 {"generation": n, "new": bool}; the body {"reason"?} may be absent',
    reason:
      'The connections are replaced after the answer; a hook sees whether it brought news, and curl needs no body.',
  },
  {
    topic: 'life of a machine',
    choice: 'The headers remora-generation (decimal) and remora-incarnation (32 hex digits) on calls to the platform',
    reason: 'resume.md asks for a header on each call and names none; two values keep clones of one snapshot apart.',
  },
  {
    topic: 'gap and skew of a resume',
    choice: 'gap_ms and wall_skew_ms are null where no source tells; skew counts how far the wall clock was behind',
    reason: 'An ordinary restore moves no clock of the guest: a zero would claim what nobody measured.',
  },
  {
    topic: 'what makes a life of a machine',
    choice: 'Generation and incarnation are kept together and renewed by a resume only; a first start makes them',
    reason: 'A restart of the agent is the same life. Were it another one, the platform would take it for a copy.',
  },
  {
    topic: 'report of a resume',
    choice:
      'POST /v1/apps/{app}/machines/{id}/resumed with the token of the sprite, at each start and after each resume, idempotent',
    reason:
      'resume.md names what is told and what is taken back, and no path; a report whose answer was lost is repeated.',
  },
  {
    topic: 'changes of policies',
    choice:
      'GET /v1/gateway/changes: a stream of versions, not of policies; without it the policies are read each minute, and while it is lost the gateway is degraded',
    reason:
      'A change must end streams within a second, and a stream says in whatever order things happen only that it is time to read.',
  },
  {
    topic: 'WebSockets through the gateway',
    choice:
      'Bytes as they come, no pings of ours, 1001 after ten minutes without a byte; a changed policy closes with 1008, a stop or a resume with 1001',
    reason: 'A ping would be seen by programs that count frames; TCP keep-alive finds a dead peer without one.',
  },
  {
    topic: 'credentials among the subprotocols of a WebSocket',
    choice:
      'A capability token counts there on the loopback listener; elements that carry a key, by a table of prefixes and markers or longer than 64, go no further',
    reason:
      'A browser can set no other header, so SDKs write keys there. The provider gets the connector’s credential and no other.',
  },
  {
    topic: 'end of a capability token',
    choice:
      'Revoked or expired, it takes along what was begun with it: 401 unauthorized before the answer, a break after it, WebSockets 1008, streams an error line',
    reason: 'Who revokes a token wants an end now, and a stream may last for hours.',
  },
  {
    topic: 'calls without a good token',
    choice:
      'Counted in the metrics each time, and recorded in the log of calls twenty at once and then one in ten seconds',
    reason: 'They are what an auditor looks for, and nobody without a token may push the records of others out.',
  },
  {
    topic: 'Expect: 100-continue at the gateway',
    choice: '100 at once when the policy allows the call, never when it is refused',
    reason:
      'The verdict is what a caller with a large body waits for; a provider that refuses the body answers early anyway.',
  },
  {
    topic: 'a call in flight at a resume',
    choice:
      'GET and HEAD without an answer are sent once more; what else was sent is 502 outcome_unknown, never sent twice',
    reason:
      'Whether the provider has carried it out cannot be known; the caller can ask the provider, the gateway cannot.',
  },
  {
    topic: 'copies of a machine',
    choice:
      'A higher generation is taken over from any call; 409 incarnation_conflict for another life of the same one, 409 rewound for a lower one',
    reason:
      'Who comes first counts: two restores of one snapshot cannot be told apart otherwise, and the later life is the live one.',
  },
  {
    topic: 'calls without the headers of a life',
    choice: 'Not checked; headers that are malformed, or one without the other, are 400',
    reason: 'People call by hand with the token of a sprite. A broken pair would open the fence in silence.',
  },
  {
    topic: 'database of the platform',
    choice:
      'SQLite in its directory; PostgreSQL 14 or newer at --database or REMORA_DATABASE_URL, for any number of processes',
    reason:
      'One binary with nothing beside it serves a team; who needs several processes has a server that others keep up.',
  },
  {
    topic: 'machine of another platform process',
    choice:
      'Belongs to the process that booted it first; others show it and answer moves, waits and the deletion of its sprite with 421 other_host and the host',
    reason:
      'The disk and the processes of a machine are on one host; a copy started elsewhere would be another machine.',
  },
  {
    topic: 'platform process that is gone for good',
    choice:
      'remora platform host forget HOST: its machines are stopped and start anywhere, its keys hold up no rotation',
    reason: 'Nobody can tell a host that is slow from one that is gone, so a person says so.',
  },
  {
    topic: 'limits on calls with several platform processes',
    choice: 'Counted by each process; limits on running and warm sprites are counted in the database',
    reason: 'A count in the database for each call would cost more than what the limit protects.',
  },
  {
    topic: 'a database that cannot be asked',
    choice:
      '503 not_ready with Retry-After 5; calls that are open go on for 30 s, streams of policy changes without an end',
    reason:
      'A restart of the server is not a revocation. Nobody can revoke anything meanwhile, except beyond a broken network.',
  },
  {
    topic: 'cold start of a machine',
    choice: 'The platform forgets the life that it knew, and ends the tokens that it gave to it',
    reason:
      'A machine that boots from an older disk counts from an older number. It is also how an operator settles a conflict.',
  },
  {
    topic: 'reconnect spread',
    choice:
      'A setting of the platform, 0 by default, answered to reports while several machines have reported; used at the next resume, at most 300 s',
    reason:
      'A machine that wakes alone need not wait; one of many has to know before it wakes, because asking is what is spread.',
  },
  {
    topic: 'time of a machine in the spread',
    choice: 'SHA-256 of machine id and generation, mapped to [0, spread)',
    reason: 'Even without a word between machines, other at each resume, and the same when a recovery starts over.',
  },
  {
    topic: 'resumes after which the process image is replaced',
    choice:
      'With resume.rng = reexec: every cause but guest_sleep and process_stopped, at the end of the recovery; the pid, the sockets and the generation stay',
    reason:
      'Only a restore clones memory, but without a counter it looks like a pause, and a poke tells nothing else. In doubt a pause of half a second is the cheaper mistake.',
  },
  {
    topic: 'callers while the process image is replaced',
    choice:
      'Those who are connected are answered for at most 2 s, then 503 resuming; new ones wait in the queue of the socket; streams end cleanly and go on with since',
    reason:
      'A refusal or a reset would say that the daemon is gone. Two seconds are what callers wait for a resume anyway.',
  },
  {
    topic: 'events of a re-exec',
    choice:
      'agent_reexecuted {version, pid, ms} in place of agent_started; reexec_failed {reason} when the image had to be kept',
    reason:
      'Numbers, ring and last resume go on, so that resumed is there once for whoever reads later; it is no start.',
  },
];
