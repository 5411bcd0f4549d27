/** The envelope of the HTTP table: `{ok: true, data}` or `{ok: false, error: {code, message}}`. */
import type { z } from 'zod';

export const ok = (data: unknown, status = 200): Response => Response.json({ ok: true, data }, { status });

export const fault = (status: number, code: string, message: string): Response =>
  Response.json({ ok: false, error: { code, message } }, { status });

/** A refusal on its way out of a handler. */
export class Refused extends Error {
  readonly response: Response;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.response = fault(status, code, message);
  }
}

/** Of a request's body. */
export const BODY_BYTES = 1024 * 1024;

export const tooLarge = (): Refused => new Refused(413, 'too_large', `the body is more than ${BODY_BYTES} bytes`);

/** Reads a JSON body by its schema, or refuses it naming what is wrong. */
export async function bodyOf<T>(request: Request, schema: z.ZodType<T>): Promise<T> {
  const declared = Number(request.headers.get('content-length') ?? 0);
  if (declared > BODY_BYTES) throw tooLarge();
  const text = await request.text();
  if (text.length > BODY_BYTES) throw tooLarge();
  let value: unknown;
  try {
    value = text === '' ? {} : JSON.parse(text);
  } catch {
    throw new Refused(400, 'invalid_request', 'the body is not JSON');
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const where = issue === undefined || issue.path.length === 0 ? 'body' : issue.path.join('.').slice(0, 100);
  throw new Refused(400, 'invalid_request', `${where}: ${issue?.message.slice(0, 200) ?? 'is not valid'}`);
}
