/**
 * What reads clients' text: each with a way to be fed a hostile one. And what takes text or bytes in the same folders without being a reader of it.
 *
 * A test holds both lists together to what the folders export: whoever writes another reader has to list it here.
 */
import { SessionState } from '../../server/src/gateways/pgwire/kept/session-state.ts';
import { ForeseenCommit } from '../../server/src/gateways/pgwire/kept/foreseen-commit.ts';
import { FailedBlock } from '../../server/src/gateways/pgwire/kept/failed-block.ts';
import { KeptBudgets } from '../../server/src/gateways/pgwire/kept/kept-budget.ts';
import { tokensOf } from '../../server/src/pgwire/body-tokens.ts';
import { nothingWatched } from '../../server/src/gateways/pgwire/kept/function-looks.ts';
import { JudgedTexts } from '../../server/src/gateways/pgwire/kept/judged-texts.ts';
import { judgeBody } from '../../server/src/gateways/pgwire/kept/telling-body.ts';
import { TellingFunctions } from '../../server/src/gateways/pgwire/kept/telling-functions.ts';
import * as telling from '../../server/src/gateways/pgwire/kept/telling-text.ts';
import { UpstreamReader } from '../../server/src/gateways/pgwire/kept/upstream-reader.ts';
import { readSaslChoice } from '../../server/src/gateways/pgwire/codec/authentication-messages.ts';
import * as changes from '../../server/src/gateways/pgwire/codec/changes-data.ts';
import { readDoubt, readLeadership } from '../../server/src/gateways/pgwire/codec/doubt-frame.ts';
import * as mentions from '../../server/src/gateways/pgwire/codec/mentions.ts';
import * as consistency from '../../server/src/gateways/pgwire/codec/read-consistency.ts';
import * as single from '../../server/src/gateways/pgwire/codec/single-statement.ts';
import { startupSetting, startupSettings } from '../../server/src/gateways/pgwire/codec/startup-options.ts';
import { readFirstPacket, startupBytesMax } from '../../server/src/gateways/pgwire/codec/startup.ts';
import * as scram from '../../server/src/gateways/pgwire/login/scram/scram-messages.ts';
import { readScramSecret } from '../../server/src/gateways/pgwire/login/scram/scram-secret.ts';
import { ClientInput } from '../../server/src/gateways/pgwire/session/client-input.ts';
import { discardsAll, kindOfText } from '../../server/src/gateways/pgwire/session/named/asking-text.ts';
import { messageMentions } from '../../server/src/gateways/pgwire/session/named/name-in-force.ts';
import { readRequestRow } from '../../server/src/gateways/pgwire/session/named/request-row.ts';
import { textDigest } from '../../server/src/gateways/pgwire/session/prepared-texts.ts';
import { RequestReader } from '../../server/src/gateways/pgwire/session/reading/request-reader.ts';
import { statementKind } from '../../server/src/gateways/pgwire/session/reading/statement-kind.ts';
import { RequestTracker } from '../../server/src/gateways/pgwire/session/request-tracker.ts';
import { RequestCutter } from '../../server/src/gateways/pgwire/statements/request-cutter.ts';
import { isLoopbackName, requestProblem } from '../../server/src/gateways/http/request-guard.ts';
import { parseSlot } from '../../server/src/gateways/http/log-routes.ts';
import { MessageReader } from '../../server/src/gateways/thrift/codec/message-reader.ts';
import { cellOf, valueOf } from '../../server/src/gateways/thrift/codec/cells.ts';
import { tupleOf } from '../../server/src/gateways/thrift/codec/tuples.ts';
import { rowsOfTag } from '../../server/src/gateways/thrift/sql/answer.ts';
import { characterCounter, isParseable } from '../../server/src/determinism/client-text.ts';
import { rewriteMessages, textBytesMax } from '../../server/src/determinism/messages.ts';
import { rewriteQuery } from '../../server/src/determinism/rewrite.ts';
import { namedInText } from '../../server/src/determinism/rules/bodies.ts';
import { catalogRowInText } from '../../server/src/determinism/rules/catalog-rows.ts';
import { clockConfig, clockSet } from '../../server/src/determinism/rules/clocks.ts';
import { checkParameters } from '../../server/src/determinism/rules/parameters.ts';
import * as times from '../../server/src/determinism/rules/relative-times.ts';
import { bodyPickRefusal } from '../../server/src/determinism/rules/picks-without-order.ts';
import { effectOfBody } from '../../server/src/determinism/rules/session-effects.ts';
import { neededDatabase } from '../../server/src/payload/statements/databases-in-use.ts';
import { planRequest } from '../../server/src/payload/statements/message-plan.ts';
import { customNamesIn } from '../../server/src/pgwire/custom-names.ts';
import { statementsOf } from '../../server/src/payload/statements/text-statements.ts';
import { BindParameters } from '../../server/src/pgwire/bind-parameters.ts';
import { readErrorFields } from '../../server/src/pgwire/backend-messages.ts';
import { withoutComments } from '../../server/src/pgwire/comments.ts';
import * as send from '../../server/src/pgwire/frontend-messages.ts';
import { rulesAfter, usualRules } from '../../server/src/pgwire/text-rules.ts';
import { shapeOf } from '../../server/src/pgwire/text-shape.ts';
import { isHost } from '../../server/src/shapes/host.ts';
import { nearest } from '../../server/src/shapes/unknown-key.ts';
import { withoutPasswords } from '../../server/src/demo/without-passwords.ts';
import {
  chunksOf,
  type Feed,
  frameBytesMax,
  parts,
  refused,
  startupOf,
  stream,
  streamsOf,
  text,
} from './feeds.ts';

const context = { clientEncoding: 'UTF8', standardConformingStrings: true } as const;
const plan = {
  status: 'I',
  rules: usualRules,
  statements: new Map(),
  portals: new Map(),
  advance: { call: () => 'SELECT 1', column: 'x' },
} as const;

/** By module and name. */
export const readers: Readonly<Record<string, Feed>> = {
  'pgwire/statement-reader.ts StatementReader': (bytes) => void shapeOf(bytes, 0, bytes.length, usualRules),
  'pgwire/text-shape.ts shapeOf': (bytes) =>
    void shapeOf(bytes, 0, bytes.length, { backslashEscapes: true, mixedBytes: true }),
  'pgwire/text-rules.ts rulesAfter': text((value) => rulesAfter(usualRules, 'client_encoding', value)),
  'pgwire/comments.ts withoutComments': text(withoutComments),
  'pgwire/backend-messages.ts readErrorFields': (bytes) => void readErrorFields(bytes),
  'pgwire/frontend-messages.ts readBindNames': stream(() =>
    parts(({ payload, end }, chunk) => send.readBindNames(chunk, payload, end)),
  ),
  'pgwire/bind-parameters.ts BindParameters': stream(() => {
    const reader = new BindParameters(128, () => {});
    return parts(({ payload, end }, chunk) => reader.push(chunk, payload, end));
  }),
  'gateways/pgwire/codec/authentication-messages.ts readSaslChoice': (bytes) =>
    refused(() => readSaslChoice(bytes)),
  'gateways/pgwire/codec/changes-data.ts changesData': stream(() =>
    parts(({ payload, end }, chunk) => changes.changesData(chunk, payload, end)),
  ),
  'gateways/pgwire/codec/changes-data.ts readsData': (bytes) =>
    void changes.readsData(bytes, 0, bytes.length),
  'gateways/pgwire/codec/changes-data.ts commitsData': (bytes) =>
    void changes.commitsData(bytes, 0, bytes.length),
  'gateways/pgwire/codec/changes-data.ts actsBeside': (bytes) =>
    void changes.actsBeside(bytes, 0, bytes.length),
  'gateways/pgwire/codec/doubt-frame.ts readLeadership': text(readLeadership),
  'gateways/pgwire/codec/doubt-frame.ts readDoubt': (bytes) => refused(() => readDoubt(bytes)),
  'gateways/pgwire/codec/mentions.ts mentions': text(mentions.mentions),
  'gateways/pgwire/codec/mentions.ts mentionIn': text(mentions.mentionIn),
  'gateways/pgwire/codec/mentions.ts PieceSearch': (bytes) => {
    const search = new mentions.PieceSearch();
    for (const chunk of chunksOf(bytes)) search.look(chunk.toString('latin1'));
  },
  'gateways/pgwire/codec/read-consistency.ts consistencyIn': text((value) => {
    for (const each of [value, `${value} read_consistency`]) consistency.consistencyIn(each);
  }),
  'gateways/pgwire/codec/read-consistency.ts changed': text((value) => {
    const { defaultConsistency: now } = consistency;
    for (const name of ['barista.max_staleness', 'barista.read_consistency'] as const)
      consistency.changed(now, name, value);
  }),
  'gateways/pgwire/codec/single-statement.ts kindOfStatement': (bytes) => {
    for (const mixedBytes of [false, true])
      single.kindOfStatement(bytes, 0, bytes.length, { backslashEscapes: false, mixedBytes });
  },
  'gateways/pgwire/codec/single-statement.ts kindOfBeginning': (bytes) =>
    void single.kindOfBeginning(bytes, 0, bytes.length),
  'gateways/pgwire/codec/startup-options.ts startupSetting': text((value) => {
    const startup = startupOf(value.slice(0, startupBytesMax));
    mentions.mentionInStartup(startup);
    startupSettings(startup);
    startupSetting(startup, 'x');
  }),
  'gateways/pgwire/codec/startup.ts readFirstPacket': (bytes) =>
    refused(() => readFirstPacket(Buffer.concat([Buffer.from('\0\0\x20\0\0\x03\0\0', 'latin1'), bytes]))),
  'gateways/pgwire/kept/failed-block.ts FailedBlock': stream(() => {
    const error = { sqlState: '40001', message: 'x' };
    const block = new FailedBlock('chain', error, new RequestTracker());
    return parts((part, chunk) => block.sent(part, chunk));
  }),
  'gateways/pgwire/kept/foreseen-commit.ts ForeseenCommit': stream(() => {
    const tracker = new RequestTracker();
    const foreseen = new ForeseenCommit(tracker, { frameOf: () => undefined });
    foreseen.begin();
    return parts((part, chunk) => {
      tracker.sent(part, chunk);
      foreseen.sent(part, chunk);
    });
  }),
  'gateways/pgwire/kept/session-state.ts SessionState': stream(() => {
    const budget = new KeptBudgets(2 * frameBytesMax).of('one');
    const state = new SessionState({ preparedBytesMax: 2 ** 20, budget, functions: nothingWatched });
    return parts((part, chunk) => state.sent(part, chunk, 0));
  }),
  // Long sources are not judged.
  'pgwire/body-tokens.ts tokensOf': text((value) => tokensOf(value.slice(0, 131_072))),
  'gateways/pgwire/kept/telling-body.ts judgeBody': text((value) => {
    for (const source of [
      value,
      `begin execute ${value}`,
      `begin execute '${value}'`,
      `begin perform set_config(${value}`,
    ])
      judgeBody(source, 'plpgsql', () => {});
  }),
  'gateways/pgwire/kept/telling-functions.ts TellingFunctions': text((value) => {
    const names = new Map([['f', true]]);
    new TellingFunctions(names, { tells: false, hides: false }, []).namedIn(value);
  }),
  'gateways/pgwire/kept/judged-texts.ts JudgedTexts': text((value) =>
    new JudgedTexts(nothingWatched).namedIn(value),
  ),
  'gateways/pgwire/kept/telling-text.ts tellsOfState': text(telling.tellsOfState),
  'gateways/pgwire/kept/telling-text.ts customSettings': text(telling.customSettings),
  'gateways/pgwire/kept/telling-text.ts setsHidden': text(telling.setsHidden),
  'gateways/pgwire/kept/telling-text.ts preparesTelling': text(telling.preparesTelling),
  'gateways/pgwire/kept/telling-text.ts setsCustom': text(telling.setsCustom),
  'gateways/pgwire/kept/telling-text.ts setsUnnamed': text(telling.setsUnnamed),
  'gateways/pgwire/kept/telling-text.ts hasPlainValues': text(telling.hasPlainValues),
  'gateways/pgwire/kept/telling-text.ts customSettingNamed': text(telling.customSettingNamed),
  'gateways/pgwire/login/scram/scram-messages.ts readClientFirst': text((value) => {
    for (const each of [value, `n,,n=,r=${value}`, `p=${value},,`, `n,,n=,r=a,b=${value}\0`])
      refused(() => scram.readClientFirst(each));
  }),
  'gateways/pgwire/login/scram/scram-messages.ts readClientFinal': text((value) => {
    for (const each of [value, `c=${value},r=a,p=a`, `c=a,r=${value}`, `c=,r=a,a=${value},p=${value}`])
      refused(() => scram.readClientFinal(each));
  }),
  'gateways/pgwire/login/scram/scram-secret.ts readScramSecret': text((value) =>
    readScramSecret(`SCRAM-SHA-256$1:${value}`),
  ),
  'gateways/pgwire/session/client-input.ts ClientInput': stream(() => {
    const input = new ClientInput(new RequestTracker(), frameBytesMax);
    return (chunk) => input.read(chunk);
  }),
  'gateways/pgwire/session/request-tracker.ts RequestTracker': stream(() => {
    const tracker = new RequestTracker();
    return parts((part, chunk) => {
      tracker.sent(part, chunk);
      return tracker.verdict;
    });
  }),
  'gateways/pgwire/session/named/asking-text.ts kindOfText': text(kindOfText),
  'gateways/pgwire/session/named/asking-text.ts discardsAll': text(discardsAll),
  'gateways/pgwire/session/named/name-in-force.ts messageMentions': (bytes) =>
    void messageMentions(send.query(bytes.toString('latin1'))),
  'gateways/pgwire/session/named/request-row.ts readRequestRow': text((value) =>
    refused(() => readRequestRow(value)),
  ),
  'gateways/pgwire/session/prepared-texts.ts textDigest': (bytes) => void textDigest(bytes),
  'gateways/pgwire/session/reading/request-reader.ts RequestReader': stream(() => {
    const reader = new RequestReader(frameBytesMax);
    return (chunk) => reader.read(chunk);
  }),
  'gateways/pgwire/session/reading/statement-kind.ts statementKind': text(statementKind),
  'gateways/pgwire/statements/request-cutter.ts RequestCutter': stream(() => {
    const bounds = { frameBytesMax, requestBytesMax: 2 ** 21, copyBytesMax: 2 ** 21 };
    const cutter = new RequestCutter(bounds);
    return (chunk) => {
      cutter.feed(chunk);
      while (cutter.take() !== null);
    };
  }),
  'gateways/http/request-guard.ts isLoopbackName': text((value) => {
    isLoopbackName(value);
    requestProblem({ host: value, origin: value }, { host: '127.0.0.1' });
  }),
  'gateways/http/log-routes.ts parseSlot': text(parseSlot),
  'gateways/thrift/codec/message-reader.ts MessageReader': (bytes) => {
    for (const head of [call, Buffer.alloc(0)]) {
      const reader = new MessageReader({ bytesMax: 2 ** 25, elementsMax: 70_000, depthMax: 16 });
      refused(() => {
        for (const chunk of chunksOf(Buffer.concat([head, bytes]))) {
          reader.feed(chunk);
          while (reader.next() !== null);
        }
      });
    }
  },
  'gateways/thrift/codec/message-scanner.ts MessageScanner': (bytes) => {
    // One byte at a time.
    const reader = new MessageReader({ bytesMax: 2 ** 25, elementsMax: 70_000, depthMax: 16 });
    refused(() => {
      for (const byte of Buffer.concat([call, bytes.subarray(0, 2 ** 20)])) {
        reader.feed(Buffer.from([byte]));
        reader.next();
      }
    });
  },
  'gateways/thrift/codec/cells.ts cellOf': (bytes) => void cellOf(bytes),
  'gateways/thrift/codec/cells.ts valueOf': (bytes) => void valueOf(bytes),
  'gateways/thrift/codec/tuples.ts tupleOf': (bytes) => void tupleOf(bytes),
  'gateways/thrift/sql/answer.ts rowsOfTag': text(rowsOfTag),
  'determinism/client-text.ts isParseable': text((value) => isParseable(value, 'SJIS')),
  'determinism/client-text.ts characterCounter': text((value) =>
    characterCounter(value, 'UTF8')(value.length),
  ),
  'determinism/messages.ts rewriteMessages': (bytes) => {
    for (const each of streamsOf(bytes)) rewriteMessages(each, context);
  },
  // Longer texts have been refused before.
  'determinism/rewrite.ts rewriteQuery': text((value) => rewriteQuery(value.slice(0, textBytesMax), context)),
  'determinism/rules/bodies.ts namedInText': text(namedInText),
  'determinism/rules/catalog-rows.ts catalogRowInText': text((value) => {
    catalogRowInText(value);
    catalogRowInText(`select 1 from pg_class c, ${value}`);
  }),
  'determinism/rules/clocks.ts clockConfig': text((value) =>
    clockConfig('lock_timeout', { A_Const: { location: 0 } }, value),
  ),
  'determinism/rules/clocks.ts clockSet': text((value) =>
    clockSet({ kind: 'VAR_SET_VALUE', name: 'lock_timeout', args: [{ A_Const: { location: 0 } }] }, value),
  ),
  'determinism/rules/parameters.ts checkParameters': (bytes) =>
    void checkParameters(send.bind({ portal: '', statement: '', parameters: [bytes] }), 7, undefined),
  'determinism/rules/relative-times.ts isRelativeTime': text((value) => {
    for (const each of [value, value.slice(0, 250), `${value.slice(0, 250)}!`]) times.isRelativeTime(each);
  }),
  'determinism/rules/relative-times.ts holdsRelativeTime': text((value) => {
    for (const each of [value, `(${value.slice(0, 1000)}`]) times.holdsRelativeTime(each);
  }),
  'determinism/rules/relative-times.ts mentionsClock': text(times.mentionsClock),
  'determinism/rules/picks-without-order.ts bodyPickRefusal': text(bodyPickRefusal),
  'determinism/rules/session-effects.ts effectOfBody': text(effectOfBody),
  'payload/statements/text-statements.ts statementsOf': (bytes) => {
    // Of a request, which has a bound.
    const value = bytes.toString('latin1', 0, 2 ** 20);
    const define = (parameters: string, body: string): string =>
      `create function f(${parameters}) returns int begin atomic ${body}; end`;
    for (const each of [value, define(value, 'select 1'), define('', value)])
      statementsOf(Buffer.from(each, 'latin1'), usualRules);
  },
  'payload/statements/databases-in-use.ts neededDatabase': text((value) => {
    for (const each of [`drop database ${value}`, `create database x template ${value}`])
      neededDatabase(each);
  }),
  'payload/statements/message-plan.ts planRequest': (bytes) => {
    for (const each of streamsOf(bytes)) planRequest(Buffer.concat([each, send.sync]), plan);
  },
  'pgwire/custom-names.ts customNamesIn': text(customNamesIn),
  'shapes/host.ts isHost': text(isHost),
  'shapes/unknown-key.ts nearest': text((value) => nearest(value, ['leaseMs', value])),
  'demo/without-passwords.ts withoutPasswords': text((value) => {
    for (const each of [value, `PASSWORD ${value}`, `password=''${value}`, `password '${value}`])
      withoutPasswords(each);
  }),
  'gateways/pgwire/kept/upstream-reader.ts UpstreamReader': stream(() => {
    const reader = new UpstreamReader(frameBytesMax, listener);
    return (chunk) => reader.read(chunk);
  }),
};

/** A call of Thrift whose first field is a text without an end. */
const call = Buffer.from('\x80\x01\0\x01\0\0\0\x01f\0\0\0\x01\x0b\0\x01\x01\x7f\xff\xff', 'latin1');

const listener = {
  authentication: () => {},
  backendKey: () => {},
  parameter: () => true,
  doubt: () => {},
  copyBegan: () => {},
  parseComplete: () => {},
  closeComplete: () => {},
  failed: () => true as const,
  ready: () => true,
} as const;

/** Their texts are bounded, to 64 KiB where statements are what travels; and one that is fed byte by byte. */
export const boundedTexts = [
  'payload/statements/',
  'determinism/',
  'gateways/thrift/codec/message-scanner.ts',
] as const;

/** Folders all of whose exports that take text are listed, here or above. */
export const folders = ['pgwire', 'determinism', 'shapes', 'gateways'] as const;

/** They take a text, and read none of a client's, or a part that a listed reader hands them, or one that has a bound. By module; the names are apart by blanks, `*` is all. */
export const others: Readonly<Record<string, string>> = {
  // Write messages, or read one field.
  'pgwire/backend-messages.ts':
    'commandComplete commandTag readParameterStatus firstColumn columnsOf frameOf',
  'pgwire/effects-elsewhere.ts': 'effectsElsewhere',
  'pgwire/frame-gatherer.ts': 'FrameGatherer',
  'pgwire/frame-splitter.ts': 'FrameSplitter',
  'pgwire/frontend-messages.ts':
    'stringEnd shortName query parse bind execute closeStatement closePortal describePortal runsAs copyFail',
  // Statements of our own.
  'pgwire/become-role.ts': 'becomeRole',
  'pgwire/own-questions.ts': 'isOwnQuestion',
  'pgwire/own-sql.ts': 'ownSql',
  'pgwire/sql-bytes.ts': 'placeWithin',
  'pgwire/statement-kinds.ts': 'needsAllWords kindOf',
  // What rewriteMessages and rewriteQuery consist of.
  'determinism/bare-text.ts': 'withBlanksForComments hasLongOperatorRun',
  'determinism/cache.ts': 'RewritingCache',
  'determinism/client-text.ts': 'isAscii bytesOf textOf',
  'determinism/edits.ts': 'applyEdits',
  'determinism/parser.ts': 'parseText',
  'determinism/rewrite.ts': 'rewriteBinary',
  'determinism/rules/check.ts': 'checkStatement',
  'determinism/rules/functions.ts': 'mayBeBuiltIn pgcryptoRefusal',
  'determinism/rules/session-effects.ts': 'effectOfCall nameEffect',
  'determinism/rules/sql-in-strings.ts': 'stringRefusal',
  'determinism/rules/statements.ts': 'settingRefusal',
  'determinism/rules/temporary-schemas.ts': 'triggerRefusal',
  'determinism/tree.ts': 'walk hasNode nodesOf word',
  // Documents that express has read, up to its bound.
  'shapes/check-shape.ts': 'checkShape',
  'shapes/json-shape.ts': 'kindsOf',
  'shapes/unknown-key.ts': 'unknownKeyWords',
  'gateways/http/request-guard.ts': 'isLoopbackAddress',
  'gateways/http/wrong-tokens.ts': 'WrongTokens',
  'gateways/by-source.ts': 'BySource sourceOf',
  'gateways/listen.ts': 'listenOn',
  'gateways/pgwire/codec/authentication-messages.ts':
    'authenticationSasl saslContinue saslFinal authentication',
  // A startup packet has a bound of 10,000 bytes.
  'gateways/pgwire/codec/startup.ts':
    'startupParameter startupForTunnel tunnelChallenge readTunnelChallenge tunnelAnswer cancelForBackend cancelForLeader',
  'gateways/pgwire/errors.ts': '*',
  'gateways/pgwire/front/admission.ts': 'Admission',
  'gateways/pgwire/front/cancel-registry.ts': 'CancelRegistry',
  'gateways/pgwire/front/sessions.ts': 'admissible',
  'gateways/pgwire/front/told-errors.ts': 'ToldErrors',
  'gateways/pgwire/front/vouched-links.ts': 'VouchedLinks',
  // Pass on what they are given, and read it by what is listed.
  'gateways/pgwire/kept/following.ts': 'Following',
  'gateways/pgwire/kept/hidden-block.ts': 'HiddenBlock',
  'gateways/pgwire/kept/id-question.ts': 'IdAnswer calledId isOfRequest',
  'gateways/pgwire/kept/function-looks.ts': 'FunctionLooks',
  'gateways/pgwire/kept/ids-ahead.ts': 'IdsAhead',
  'gateways/pgwire/kept/kept-requests.ts': 'KeptRequests',
  'gateways/pgwire/kept/left-session.ts': 'LeavingReader parseFrame',
  // At most 16 KiB of it are kept.
  'gateways/pgwire/kept/kept-budget.ts': 'KeptBudgets',
  'gateways/pgwire/kept/login-defaults.ts': 'loginFactsIn LoginAnswer mayGive',
  'gateways/pgwire/kept/parsed-statements.ts': 'ParsedStatements',
  // What is kept of requests has a bound, and each plan is looked at by its beginning.
  'gateways/pgwire/kept/read-question.ts': 'readQuestion isSafe',
  'gateways/pgwire/kept/state-question.ts': 'askState StateAnswer',
  'gateways/pgwire/kept/turns.ts': 'Turns',
  'gateways/pgwire/kept/upstream-reader.ts': 'AnswersInTurn',
  'gateways/pgwire/login/accept-tunnel.ts': 'acceptTunnel',
  'gateways/pgwire/login/authenticate.ts': 'provePassword',
  'gateways/pgwire/login/client-link.ts': 'plainAddress',
  'gateways/pgwire/login/keys.ts': 'gatewayKeys',
  'gateways/pgwire/login/scram/scram-exchange.ts': 'ScramExchange',
  'gateways/pgwire/login/scram/scram-messages.ts': 'malformed',
  'gateways/pgwire/login/scram/scram-secret.ts': 'mockScramSecret',
  'gateways/pgwire/login/tunnel-proof.ts': 'readChallenge answerOf readTunnelAnswer',
  'gateways/pgwire/login/upstream-login.ts': 'openUpstream',
  'gateways/pgwire/session/answer-reader.ts': 'AnswerReader saysAuthenticated',
  'gateways/pgwire/session/close-with-words.ts': 'closeWithWords',
  'gateways/pgwire/session/connect-backend.ts': 'connectBackend',
  'gateways/pgwire/session/farewell.ts': 'committedAnswer',
  'gateways/pgwire/session/given-kinds.ts': 'GivenKinds',
  'gateways/pgwire/session/intake.ts': 'Intake',
  'gateways/pgwire/session/named/expected-replies.ts': 'ExpectedReplies',
  'gateways/pgwire/session/named/flight-answers.ts': 'FlightAnswers',
  'gateways/pgwire/session/named/name-in-force.ts': 'NameInForce',
  'gateways/pgwire/session/named/named-batch.ts': 'NamedBatch',
  'gateways/pgwire/session/named/named-requests.ts': 'NamedRequests',
  'gateways/pgwire/session/named/named-session.ts': 'NamedSession',
  // Of at most 1,000 characters.
  'gateways/pgwire/session/named/plain-tokens.ts': 'plainTokens',
  'gateways/pgwire/session/named/request-databases.ts': 'RequestDatabases',
  // Hashes what it is given, or splits a line of 64 characters.
  'gateways/pgwire/session/named/request-digest.ts': 'digestOf recordOf readRecord isSame',
  'gateways/pgwire/session/named/attempt.ts': 'Attempt',
  'gateways/pgwire/session/named/given-names.ts': 'GivenNames',
  'gateways/pgwire/session/open-portals.ts': 'OpenPortals',
  'gateways/pgwire/session/outbox.ts': 'Outbox',
  'gateways/pgwire/session/prepared-kinds.ts': 'PreparedKinds',
  'gateways/pgwire/session/reading/read-answers.ts': 'ReadAnswers',
  'gateways/pgwire/session/reading/read-mode-refusal.ts': 'readModeRefusal',
  'gateways/pgwire/session/server-lives.ts': 'serverLives',
  // At most 16 KiB are held, in pieces that are not joined.
  'gateways/pgwire/session/whole-messages.ts': 'WholeMessages',
  'gateways/pgwire/statements/answer-ends.ts': 'endOfAnswer',
  'gateways/pgwire/statements/errors.ts': '*',
  'gateways/pgwire/tls/certificate-hash.ts': 'endpointOf',
  'gateways/pgwire/tls/pace.ts': 'Pace',
  'gateways/pgwire/tls/tls-identity.ts': 'fingerprintOf',
  'gateways/thrift/codec/barista-api.ts': 'readCall applicationException',
  'gateways/thrift/codec/bytes-transport.ts': 'BytesTransport',
  'gateways/thrift/codec/db-exception.ts': 'errorCodeOf',
  'gateways/thrift/codec/tuples.ts': 'cellsOf',
  'gateways/thrift/door/connection.ts': 'ThriftConnection',
  'gateways/thrift/door/measured-calls.ts': 'MeasuredCalls',
  'gateways/thrift/errors.ts': '*',
  'gateways/thrift/sql/answer.ts': 'Answer',
  'gateways/thrift/sql/handles.ts': 'newHandle',
  'gateways/thrift/sql/kept-answers.ts': 'KeptAnswers',
  'gateways/thrift/sql/pgwire-session.ts': 'PgwireSession',
  'gateways/thrift/sql/scram-proof.ts': 'ScramProof',
  'gateways/thrift/sql/shared-handles.ts': 'SharedHandles',
  'gateways/thrift/sql/shared-session.ts': 'SharedThriftSession answerIn',
  'gateways/thrift/sql/sql-wire.ts': 'SqlWire',
  'gateways/thrift/sql/wire-messages.ts': 'startup cancelRequest saslFirst saslAnswer statement',
};
