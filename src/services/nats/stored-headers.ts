/** The headers of a stored message as the API gives them: base64 of their lines. Answers '' for one that is not there. */
export function headersIn(hdrs: string): (name: string) => string {
  const lines = Buffer.from(hdrs, 'base64').toString().split('\r\n');
  return (name) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2) ?? '';
}
