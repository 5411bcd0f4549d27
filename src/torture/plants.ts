/** Daemons that are wrong on purpose, each a module that is loaded before the daemon: the checker has to convict them. */
import { ownFile } from './child.ts';

export const plants = ['forgets-the-fence', 'acks-before-confirm', 'acks-before-stored', 'ignores-the-leave'] as const;
export type Plant = (typeof plants)[number];

export const isPlant = (name: string): name is Plant => (plants as readonly string[]).includes(name);
export const plantFile = (plant: Plant): string => ownFile(`./planted/${plant}`);
