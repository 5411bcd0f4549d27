/**
 * What the credential machine promises on every edge. Longer than 300 lines: one list, read beside the chart.
 */
import type { ContextFrom } from 'xstate';
import type { Answered, Reload } from '../../../src/domain/reload.ts';
import type { credentialMachine } from '../../../src/machines/credential.machine.ts';
import type { PathPromise } from '../../support/paths/samples.ts';
import type { Step } from '../../support/paths/seen.ts';

type Context = ContextFrom<typeof credentialMachine>;
type CredentialStep = Step<Context>;

const FRESH = 'Living.renewal.Fresh';
const AWAITING = 'Living.renewal.AwaitingProof';
const RENEWED = 'Living.renewal.Renewed';

const told = ({ effects }: CredentialStep, action: string) =>
  effects.some((effect) => effect.kind === 'act' && effect.action === action);
const paramsOf = ({ effects }: CredentialStep, action: string) =>
  effects.flatMap((effect) => (effect.kind === 'act' && effect.action === action ? [effect.params] : []));
const answersOf = (step: CredentialStep): Answered[] =>
  paramsOf(step, 'answer').flatMap((params) => [...(params as { answers: readonly Answered[] }).answers]);
const place = (step: CredentialStep, action: string) =>
  step.effects.findIndex((effect) => effect.kind === 'act' && effect.action === action);
const expects = (reloads: readonly Reload[] | undefined, fingerprint: string) =>
  (reloads ?? []).filter(({ expected }) => expected === fingerprint).length;
const isFlying = ({ before }: CredentialStep) => before.is(`${FRESH}.Flying`);
/** The facts with which a flight of the fresh credential ends. */
const ends = (step: CredentialStep) => isFlying(step) && !step.after.is(`${FRESH}.Flying`) && !expires(step);
const expires = ({ before, fact }: CredentialStep) =>
  before.begun &&
  before.is(FRESH) &&
  fact.type === 'credential.expired' &&
  fact.connection === before.context.connection;
/** Every way a flight fails: what is told of it. */
const fails = (step: CredentialStep) =>
  (step.before.is(`${FRESH}.Flying.Rereading`) && step.heard('credential.unusable')) ||
  (step.before.is(`${FRESH}.Flying.Proving`) && step.heard('credential.unproved')) ||
  (isFlying(step) && (step.elapsed === 'flightDeadline' || step.heard('effect.failed')));
/** A reload that is not refused at once. */
const asks = (step: CredentialStep) =>
  step.before.begun && step.before.is('Living.reloads.Admitted') && step.heard('reload.asked');
const dials = (step: CredentialStep) => step.started('openResident') !== undefined;

export const promises: readonly PathPromise<Context>[] = [
  {
    clause: 'C1',
    says: 'from the expiry on nothing is dialled but to prove what the store has, until that is proved',
    when: (step) => step.before.begun && step.before.is(AWAITING) && dials(step),
    holds: (step) =>
      (step.before.is(`${AWAITING}.proof.Flying.Proving`) && step.heard('credential.proved')) ||
      'a connection is dialled with what may be expired',
  },
  {
    clause: 'C2',
    says: 'a renewal is adopted when the broker has accepted it, and on no other fact',
    when: (step) =>
      told(step, 'adopt') ||
      ((isFlying(step) || step.before.is(`${AWAITING}.proof.Flying`)) &&
        step.heard('credential.proved') &&
        step.before.running('proveCredential')),
    holds: (step) =>
      (step.heard('credential.proved') && told(step, 'adopt') && told(step, 'tellAdopted')) ||
      'it is adopted unproved, or proved and not adopted',
  },
  {
    clause: 'C2',
    says: 'a renewal that is not proved leaves the resident connection alone',
    when: (step) => fails(step) || step.heard('credential.unproved'),
    holds: (step) =>
      (!dials(step) && !told(step, 'moveIn') && step.reported('connection.replaced') === undefined) ||
      'the connection is touched',
  },
  {
    clause: 'C3',
    says: 'one flight at a time: whoever asks during one waits for it',
    when: (step) => isFlying(step) && asks(step),
    holds: (step) =>
      (step.after.is(`${FRESH}.Flying`) &&
        step.started('readCredential') === undefined &&
        step.started('proveCredential') === undefined &&
        step.after.context.later.length === step.before.context.later.length + 1) ||
      'a second flight begins, or the asker is forgotten',
  },
  {
    clause: 'C3',
    says: 'a flight begins with a deadline and a fresh look at the store, for everybody who waits',
    when: ({ before, after }) =>
      after.is(`${FRESH}.Flying.Rereading`) && !(before.begun && before.is(`${FRESH}.Flying`)),
    holds: (step) =>
      (step.armed('flightDeadline') &&
        step.started('readCredential') !== undefined &&
        step.after.context.later.length === 0) ||
      'it is not bounded, or somebody is left behind',
  },
  {
    clause: 'C3',
    says: 'when a flight ends, whoever waited for it from its beginning is answered',
    when: (step) => ends(step) && step.before.context.asked.length > 0,
    holds: (step) => {
      const answered = answersOf(step).map(({ ticket }) => ticket);
      const forgotten = step.before.context.asked.filter(({ ticket }) => !answered.includes(ticket));
      return (
        (forgotten.length === 0 && step.after.context.asked.length === 0) ||
        (step.after.is(`${FRESH}.Flying`) && forgotten.length === 0) ||
        'somebody waits for ever'
      );
    },
  },
  {
    clause: 'C3',
    says: 'whoever came during a flight is answered by it only with what he expects, and is otherwise in the next one',
    when: (step) => ends(step) && step.before.context.later.length > 0,
    holds: (step) => {
      const answers = new Map(answersOf(step).map(({ ticket, answer }) => [ticket, answer]));
      const waiting = [...step.after.context.asked, ...step.after.context.later].map(({ ticket }) => ticket);
      return (
        step.before.context.later.every(({ ticket }) => {
          const answer = answers.get(ticket);
          return answer === undefined || step.before.context.asked.some((each) => each.ticket === ticket)
            ? waiting.includes(ticket) || answer !== undefined
            : answer.kind === 'adopted';
        }) || 'he is refused unheard, or lost'
      );
    },
  },
  {
    clause: 'C4',
    says: 'a reload before the start-up is complete is refused at once, and changes nothing else',
    when: (step) => step.before.begun && step.before.is('Living.reloads.Refused') && step.heard('reload.asked'),
    holds: (step) => {
      const [answer] = answersOf(step);
      return (
        (answer?.ticket === step.fact.ticket &&
          answer?.answer.kind === 'starting' &&
          step.effects.length === 1 &&
          JSON.stringify(step.after.value) === JSON.stringify(step.before.value)) ||
        'it is admitted, or not answered'
      );
    },
  },
  {
    clause: 'C4',
    says: 'the complete start-up admits reloads, and each one is passed on',
    when: (step) =>
      (step.before.begun && step.before.is('Living.reloads.Refused') && step.heard('daemon.started')) ||
      (step.before.begun &&
        step.before.is('Living.reloads.Admitted') &&
        step.heard('reload.asked') &&
        step.before.is(FRESH)),
    holds: (step) => {
      if (!step.after.is('Living.reloads.Admitted')) return 'it is not admitted';
      if (step.heard('daemon.started')) return true;
      const { asked, later } = step.after.context;
      return expects([...asked, ...later], String(step.fact.expected)) > 0 || 'it is lost';
    },
  },
  {
    clause: 'C4',
    says: 'a credential that nobody asked for is not adopted by a reload: those who asked are refused with what was found',
    when: (step) =>
      step.before.begun &&
      step.before.is(`${FRESH}.Flying.Rereading`) &&
      step.heard('credential.found') &&
      step.before.context.asked.length > 0 &&
      expects(step.before.context.asked, String(step.fact.fingerprint)) === 0,
    holds: (step) =>
      (!told(step, 'adopt') &&
        step.started('proveCredential') === undefined &&
        answersOf(step).every(({ answer }) => answer.kind === 'other' && answer.found === step.fact.fingerprint)) ||
      'it is proved or adopted',
  },
  {
    clause: 'C5',
    says: 'another credential is proved when the daemon looked by itself, or when somebody expects it',
    when: (step) =>
      step.before.begun &&
      step.before.is(`${FRESH}.Flying.Rereading`) &&
      step.heard('credential.found') &&
      (step.before.context.asked.length === 0 || expects(step.before.context.asked, String(step.fact.fingerprint)) > 0),
    holds: (step) =>
      (step.after.is(`${FRESH}.Flying.Proving`) && step.started('proveCredential') !== undefined) ||
      'it is passed over',
  },
  {
    clause: 'C5',
    says: 'who expects the credential that is in use is told that it is adopted, and nothing is proved again',
    when: (step) =>
      step.before.begun && step.before.is(`${FRESH}.Flying.Rereading`) && step.heard('credential.unchanged'),
    holds: (step) => {
      const { asked, later } = step.before.context;
      const adopted = answersOf(step).filter(({ answer }) => answer.kind === 'adopted').length;
      const due = expects([...asked, ...later], String(step.fact.fingerprint));
      return (adopted === due && step.started('proveCredential') === undefined) || 'it is told wrongly';
    },
  },
  {
    clause: 'C3',
    says: 'a proved renewal is answered first and swapped after: the adopted ones, then the new connection',
    when: (step) => isFlying(step) && step.before.is(`${FRESH}.Flying.Proving`) && step.heard('credential.proved'),
    holds: (step) => {
      const dialled = step.effects.findIndex((effect) => effect.kind === 'start' && effect.id === 'openResident');
      const { asked, later } = step.before.context;
      const adopted = answersOf(step).filter(({ answer }) => answer.kind === 'adopted').length;
      return (
        (place(step, 'adopt') < place(step, 'answer') &&
          place(step, 'answer') < dialled &&
          adopted === expects([...asked, ...later], 'new')) ||
        'it is swapped before it is answered'
      );
    },
  },
  {
    clause: 'CRD-03',
    says: 'a look of our own that finds no renewal is told and counted; one that was asked for is not counted',
    when: (step) =>
      fails(step) || (isFlying(step) && step.before.running('readCredential') && step.heard('credential.unchanged')),
    holds: (step) => {
      const own = step.before.context.asked.length === 0;
      if (step.after.context.failures !== step.before.context.failures + (own ? 1 : 0)) return 'it is counted wrongly';
      return told(step, 'tellNotRenewed') === (own || !step.heard('credential.unchanged')) || 'it is told wrongly';
    },
  },
  {
    clause: 'CRD-03',
    says: 'after a look that found nothing the next one waits; one that is not due waits for its time',
    when: (step) => step.before.begun && step.before.is(`${FRESH}.Measuring`) && step.heard('life.measured'),
    holds: (step) => {
      if (!step.fact.isDue) {
        const { failures, waitMs } = step.after.context;
        return (
          (step.after.is(`${FRESH}.Waiting`) && step.armed('tick') && failures === 0 && waitMs === step.fact.waitMs) ||
          'it looks early'
        );
      }
      if (step.before.context.failures > 0)
        return (step.after.is(`${FRESH}.Resting`) && step.armed('lookAgain')) || 'it looks without a pause';
      return step.after.is(`${FRESH}.Flying`) || 'it does not look';
    },
  },
  {
    clause: 'CRD-04',
    says: 'when the time of a tick or of a pause has come, the clock is asked or the store is looked at',
    when: (step) => step.elapsed === 'tick' || step.elapsed === 'lookAgain',
    holds: (step) =>
      (step.elapsed === 'tick' ? step.after.is(`${FRESH}.Measuring`) : step.after.is(`${FRESH}.Flying`)) ||
      'nothing happens',
  },
  {
    clause: 'C3',
    says: 'a reload that is asked for between two looks is a flight at once',
    when: (step) =>
      step.before.begun &&
      ['Measuring', 'Waiting', 'Resting'].some((state) => step.before.is(`${FRESH}.${state}`)) &&
      asks(step),
    holds: (step) =>
      (step.after.is(`${FRESH}.Flying.Rereading`) &&
        expects(step.after.context.asked, String(step.fact.expected)) > 0) ||
      'it waits',
  },
  {
    clause: 'C7',
    says: 'a connection that was opened is moved into, and is told as the resident one',
    when: (step) => step.before.running('openResident') && step.heard('resident.opened'),
    holds: (step) => {
      const report = step.reported('connection.replaced');
      return (
        (told(step, 'moveIn') &&
          report?.connection === step.fact.connection &&
          report?.connected === true &&
          report?.at === step.fact.at &&
          step.after.context.connection === step.fact.connection &&
          step.after.context.failures === 0 &&
          step.after.is(FRESH)) ||
        'the old one stays'
      );
    },
  },
  {
    clause: 'C7',
    says: 'where the old connection goes on, a dial that fails is only made again',
    when: (step) =>
      step.before.begun &&
      step.before.is(`${FRESH}.Swapping.Dialing`) &&
      step.heard('resident.unreachable', 'effect.failed'),
    holds: (step) =>
      (step.after.is(`${FRESH}.Swapping.Resting`) &&
        step.armed('dialAgain') &&
        step.reported('connection.replaced') === undefined &&
        step.after.context.failures === step.before.context.failures + 1) ||
      'it is given up, or told as an outage',
  },
  {
    clause: 'C7',
    says: 'where the old one had ended, the first dial that fails starts the clock of the broker, and no later one does',
    when: (step) => step.before.begun && step.before.is(RENEWED) && step.heard('resident.unreachable'),
    holds: (step) => {
      const report = step.reported('connection.replaced');
      const first = step.before.is(`${RENEWED}.Dialing`);
      const isRight = first
        ? report?.connected === false && report.connection === step.fact.connection && report.at === step.fact.at
        : report === undefined;
      return (
        (isRight &&
          step.after.is(`${RENEWED}.Resting`) &&
          step.armed('dialAgain') &&
          told(step, 'tellNotDialled') &&
          step.after.context.failures === step.before.context.failures + 1) ||
        'the clock is started wrongly'
      );
    },
  },
  {
    clause: 'C7',
    says: 'a pause between two dials ends in a dial',
    when: (step) => step.elapsed === 'dialAgain',
    holds: (step) => dials(step) || 'it is not dialled',
  },
  {
    clause: 'B5',
    says: 'the expiry of the resident connection is told at once, ends every wait, and starts the backstop from when it was',
    when: expires,
    holds: (step) => {
      const { since, asked, later, failures } = step.after.context;
      const clean = asked.length === 0 && later.length === 0 && failures === 0;
      return (
        (step.after.is(`${AWAITING}.clock.Measuring`) &&
          step.after.is(`${AWAITING}.proof.Flying.Rereading`) &&
          told(step, 'tellExpired') &&
          told(step, 'silence') &&
          since === step.fact.at &&
          clean &&
          step.started('measureExpiry')?.since === since) ||
        'it is passed over'
      );
    },
  },
  {
    clause: 'B6',
    says: 'the expiry of a connection that is not the resident one changes nothing',
    when: (step) => step.before.begun && step.heard('credential.expired') && !expires(step),
    holds: ({ ignored }) => ignored || 'it is heard',
  },
  {
    clause: 'B5',
    says: 'the wait for a renewal ends by proof or by the backstop, and by nothing else',
    when: ({ before, after }) => before.begun && before.is(AWAITING) && !after.is(AWAITING),
    holds: (step) =>
      (step.heard('credential.proved') && step.after.is(`${RENEWED}.Dialing`) && dials(step)) ||
      (step.heard('expiry.measured') && step.after.is('Lapsed')) ||
      `it ends on ${step.fact.type}`,
  },
  {
    clause: 'B5',
    says: 'past the backstop the lapse is told and reported, before it neither',
    when: (step) => step.before.begun && step.before.running('measureExpiry') && step.heard('expiry.measured'),
    holds: (step) => {
      const isPast = step.fact.elapsedMs >= step.before.context.backstopMs;
      const lapsed =
        step.after.is('Lapsed') && told(step, 'tellLapsed') && step.reported('credential.lapsed') !== undefined;
      const waits =
        step.armed('backstop') &&
        step.after.context.backstopWaitMs === step.before.context.backstopMs - step.fact.elapsedMs;
      return (isPast ? lapsed : waits && !told(step, 'tellLapsed')) || 'it is said wrongly';
    },
  },
  {
    clause: 'B5',
    says: 'the backstop that elapsed is measured from the expiry, and a measurement that fails is made again',
    when: (step) => step.elapsed === 'backstop' || (step.from === 'measureExpiry' && step.heard('effect.failed')),
    holds: (step) =>
      step.elapsed === 'backstop'
        ? step.started('measureExpiry')?.since === step.before.context.since || 'it is measured from elsewhere'
        : step.armed('backstop') || 'the clock has stopped',
  },
  {
    clause: 'CRD-11',
    says: 'while it is expired, a look that does not end in proof is followed by another one after a pause',
    when: (step) =>
      step.before.begun &&
      step.before.is(`${AWAITING}.proof.Flying`) &&
      (step.elapsed === 'flightDeadline' ||
        step.heard('credential.unusable', 'credential.unproved') ||
        (step.heard('effect.failed') && step.from !== 'measureExpiry')) &&
      step.after.is(AWAITING),
    holds: (step) =>
      (step.after.is(`${AWAITING}.proof.Resting`) &&
        step.armed('waitForRenewal') &&
        step.after.context.failures === step.before.context.failures + 1) ||
      'it is not looked at again',
  },
  {
    clause: 'CRD-11',
    says: 'the pause ends in a look, and whatever the store has that may be good is proved',
    when: (step) =>
      step.elapsed === 'waitForRenewal' ||
      (step.before.begun &&
        step.before.is(`${AWAITING}.proof.Flying.Rereading`) &&
        step.heard('credential.found', 'credential.unchanged')),
    holds: (step) =>
      (step.elapsed === 'waitForRenewal'
        ? step.after.is(`${AWAITING}.proof.Flying.Rereading`) && step.armed('flightDeadline')
        : step.after.is(`${AWAITING}.proof.Flying.Proving`)) || 'it is passed over',
  },
  {
    clause: 'CRD-03',
    says: 'why there is no renewal is told while it is expired, too',
    when: (step) =>
      step.before.begun &&
      step.before.is(`${AWAITING}.proof.Flying`) &&
      (step.elapsed === 'flightDeadline' ||
        (step.heard('credential.unusable') && step.before.is(`${AWAITING}.proof.Flying.Rereading`)) ||
        (step.heard('credential.unproved') && step.before.is(`${AWAITING}.proof.Flying.Proving`))),
    holds: (step) => told(step, 'tellNotRenewed') || 'nobody hears of it',
  },
  {
    clause: 'C7',
    says: 'a dial that ends in no way we know leads back to the proof, with the clock of the expiry',
    when: (step) =>
      step.before.begun && step.before.is(RENEWED) && step.heard('effect.failed') && step.from === 'openResident',
    holds: (step) =>
      step.before.is(`${RENEWED}.Dialing`)
        ? step.started('measureExpiry')?.since === step.before.context.since || 'nobody bounds it'
        : (step.after.is(`${RENEWED}.Resting`) && step.armed('dialAgain')) || 'it is given up',
  },
  {
    clause: 'C3',
    says: 'a swap that ends serves whoever asked meanwhile',
    when: (step) =>
      step.before.begun && step.before.is(`${FRESH}.Swapping`) && (asks(step) || step.heard('resident.opened')),
    holds: (step) => {
      if (asks(step))
        return step.after.context.later.length === step.before.context.later.length + 1 || 'it is forgotten';
      if (!step.before.is(`${FRESH}.Swapping.Dialing`)) return true;
      return (
        (step.before.context.later.length > 0
          ? step.after.is(`${FRESH}.Flying`)
          : step.after.is(`${FRESH}.Measuring`)) || 'it goes elsewhere'
      );
    },
  },
  {
    clause: 'C1',
    says: 'it begins with a question to the clock',
    when: ({ before }) => !before.begun,
    holds: (step) =>
      (step.after.is(`${FRESH}.Measuring`) && step.after.is('Living.reloads.Refused')) || 'it begins elsewhere',
  },
];
