/** Completions as a shell reads them. Names of agents and channels are not asked for: a completion starts nothing. */
import type { CommandWords, OptionWords } from './words.ts';

export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

export const completionsFor = (shell: Shell, commands: readonly CommandWords[]): string => {
  switch (shell) {
    case 'bash':
      return bash(commands);
    case 'zsh':
      return zsh(commands);
    case 'fish':
      return fish(commands);
  }
};

const keyOf = ({ path }: CommandWords): string => path.join(' ');
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
const sharedOf = (commands: readonly CommandWords[]): readonly OptionWords[] =>
  commands.find(({ path }) => path.length === 0)?.options ?? [];

/** Options of a command and the shared ones. */
const optionsOf = (one: CommandWords, commands: readonly CommandWords[]): readonly OptionWords[] =>
  one.path.length === 0 ? one.options : [...one.options, ...sharedOf(commands)];

const longest = ({ long, short }: OptionWords): string[] => (short === undefined ? [long] : [long, short]);

/** In bash and zsh: the words before the cursor that name a command, as `agent add`. */
const walk = (words: string, from: number, to: string) => `  local at='' word
  for ((i = ${from}; i < ${to}; i++)); do
    word=\${${words}[i]}
    case "$known" in *"|\${at:+$at }$word|"*) at="\${at:+$at }$word" ;; esac
  done`;

const known = (commands: readonly CommandWords[]): string =>
  `|${commands
    .map(keyOf)
    .filter((key) => key !== '')
    .join('|')}|`;

function bash(commands: readonly CommandWords[]): string {
  const cases = commands.map((one) => {
    const options = optionsOf(one, commands);
    const taking = options.flatMap((option) => {
      const names = longest(option).join('|');
      if (option.takes === 'nothing') return [];
      const reply =
        option.takes === 'file'
          ? 'compopt -o default; COMPREPLY=()'
          : option.takes === 'anything'
            ? 'COMPREPLY=()'
            : `COMPREPLY=($(compgen -W ${quoted(option.takes.join(' '))} -- "$cur"))`;
      return [`        ${names}) ${reply}; return ;;`];
    });
    const words = [...one.below.map(({ name }) => name), ...one.words, ...options.map(({ long }) => long), '--help'];
    return [
      `    ${quoted(keyOf(one))})`,
      ...(taking.length === 0 ? [] : ['      case "$prev" in', ...taking, '      esac']),
      `      COMPREPLY=($(compgen -W ${quoted(words.join(' '))} -- "$cur")) ;;`,
    ].join('\n');
  });
  return `# cotal completions for bash: source <(cotal completion bash)
_cotal() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD - 1]} i
  local known=${quoted(known(commands))}
${walk('COMP_WORDS', 1, 'COMP_CWORD')}
  case "$at" in
${cases.join('\n')}
  esac
}
complete -F _cotal cotal
`;
}

function zsh(commands: readonly CommandWords[]): string {
  const told = (name: string, about: string) => quoted(`${name.replaceAll(':', '\\:')}:${about}`);
  const cases = commands.map((one) => {
    const options = optionsOf(one, commands);
    const taking = options.flatMap((option) => {
      if (option.takes === 'nothing') return [];
      const names = longest(option).join('|');
      const reply =
        option.takes === 'file' ? '_files' : option.takes === 'anything' ? ':' : `compadd -- ${option.takes.join(' ')}`;
      return [`        ${names}) ${reply}; return ;;`];
    });
    const words = [
      ...one.below.map(({ name, about }) => told(name, about)),
      ...one.words.map((word) => told(word, '')),
      ...options.map(({ long, about }) => told(long, about)),
      told('--help', 'what it does, with examples'),
    ];
    return [
      `    ${quoted(keyOf(one))})`,
      ...(taking.length === 0 ? [] : ['      case "$prev" in', ...taking, '      esac']),
      `      offered=(${words.join(' ')}) ;;`,
    ].join('\n');
  });
  return `#compdef cotal
# cotal completions for zsh: cotal completion zsh > "\${fpath[1]}/_cotal"
_cotal() {
  local prev=\${words[CURRENT - 1]} i
  local -a offered
  local known=${quoted(known(commands))}
${walk('words', 2, 'CURRENT')}
  case "$at" in
${cases.join('\n')}
  esac
  _describe 'cotal' offered
}
if [ "$funcstack[1]" = "_cotal" ]; then _cotal "$@"; else compdef _cotal cotal; fi
`;
}

function fish(commands: readonly CommandWords[]): string {
  const at = (one: CommandWords) => `-n ${quoted(`test "$(__cotal_at)" = "${keyOf(one)}"`)}`;
  const lines = commands.flatMap((one) => [
    ...one.below.map(({ name, about }) => `complete -c cotal -f ${at(one)} -a ${name} -d ${quoted(about)}`),
    ...(one.words.length === 0 ? [] : [`complete -c cotal -f ${at(one)} -a ${quoted(one.words.join(' '))}`]),
    ...one.options.map(({ long, short, about, takes }) =>
      [
        'complete -c cotal',
        ...(one.path.length === 0 ? [] : [at(one)]),
        `-l ${long.slice(2)}`,
        ...(short === undefined ? [] : [`-s ${short.slice(1)}`]),
        ...(takes === 'nothing' ? [] : takes === 'file' ? ['-r -F'] : ['-x']),
        ...(typeof takes === 'string' ? [] : [`-a ${quoted(takes.join(' '))}`]),
        `-d ${quoted(about)}`,
      ].join(' '),
    ),
  ]);
  return `# cotal completions for fish: cotal completion fish | source
function __cotal_at
  set -l at ''
  for word in (commandline -opc)[2..]
    set -l next (string trim -- "$at $word")
    if contains -- "$next" ${commands
      .map(keyOf)
      .filter((key) => key !== '')
      .map(quoted)
      .join(' ')}
      set at $next
    end
  end
  echo $at
end
complete -c cotal -f
complete -c cotal -l help -s h -d 'what it does, with examples'
${lines.join('\n')}
`;
}
