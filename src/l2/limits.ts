/** The limits of ARP and NDP announcement: everything that can grow has one. Times are in milliseconds. */

/** Entries of a table. */
export const maximumAddresses = 65_536;

/** Interfaces of a table. */
export const maximumLinks = 64;

/** Candidates of an address, and other nodes of a segment that take part. */
export const maximumCandidates = 32;

/** Other nodes of a segment whose MAC addresses are known. */
export const maximumPeers = 4096;

/** Frames of announcements that are sent in a second, and at once. */
export const announcementsPerSecond = 30_000;
export const announcementBurst = 1_000;

/** Answers in a second to one MAC address, and on one interface. */
export const answersPerMac = 1_000;
export const answersPerInterface = 10_000;

/** MAC addresses whose answers are counted at a time. */
export const maximumCountedMacs = 4096;

/** Times after a claim at which the address is announced (RFC 5227 2.3: two, 2 s apart; RFC 4861 7.2.6: up to three, 1 s apart). */
export const announcementTimes: readonly number[] = [0, 50, 200, 1_000, 3_000];

/** Time between two announcements of a held address, unless the entry has another one. */
export const refreshInterval = 60_000;

/** Probes before the first claim of an address, and the time after each (RFC 5227 2.1.1: 1 to 2 s). */
export const firstProbes = 3;
export const firstProbeInterval = 200;

/** Probes to a node that may have failed, the time between them, and the time after the first when silence means that it has failed. */
export const inquiryProbes = 2;
export const inquiryInterval = 30;
export const inquiryTime = 60;

/** Probes of other addresses when a third node answers for the one that was probed. */
export const maximumInquiries = 3;

/** Time between two checks of a better candidate by the next one in rank, and time for its answer. */
export const watchdogInterval = 1_000;
export const watchdogPatience = 300;

/** Time between two probes to a better candidate that is gone, by a node that owns its addresses: when it is back, both own them. */
export const absentInterval = 250;

/** Addresses in a row without an answer after which a node with a live session counts as failed. */
export const watchdogStrikes = 3;

/** Time after which a better candidate that has not announced an address is asked for it. */
export const announcementPatience = 1_000;

/** Time for the sessions of a link to come up before anything is claimed: at the start, and after a stall. */
export const settleTime = 1_000;
export const settleTimeAfterStall = 500;

/** Time after yielding to a better candidate at which it is asked for the address. */
export const yieldCheckTime = 300;

/** Shortest and longest time between two answers to claims of a worse candidate, and the time without one after which it is short again. */
export const defendInterval = 20;
export const longestDefendInterval = 1_000;
export const defendMemory = 250;

/** Time after a dispute in which a further claim of the same candidate means that it hears nothing. */
export const disputeMemory = 10_000;

/** Claims of one worse candidate that are answered in vain before the node with the higher MAC address gives way. */
export const defencesInVain = 4;

/** DEFEND_INTERVAL of RFC 5227 1.1: time between two announcements against a foreign host, and between two probes after a conflict. */
export const foreignDefendInterval = 10_000;

/** Time between two reports of foreign hosts at one address, when the MAC address is another one each time. */
export const conflictReportInterval = 1_000;

/** Time for the answer of a foreign host that is asked whether it still has the address. */
export const foreignAnswerTime = 1_000;

/** Time for which a node that stands ready remembers a foreign host, and looks for it before it claims an address that it would give up. */
export const foreignMemory = 30_000;

/** Longest time for which a node that gives an address up goes on answering. */
export const leavingTime = 1_000;

/**
 * Time for which the thread did not run, after which its view is void. The thread cannot tell how much of a wait it slept through, so this and
 * its longest wait together are the detection time of the sessions, 150 ms.
 */
export const stallTime = 125;

/** Longest wait of the thread for a frame. */
export const maximumWait = 25;

/** Time between two signs of life of the main thread, and time without one after which answers end. */
export const heartbeatInterval = 250;
export const heartbeatPatience = 2_000;

/** Time without a sign of life after which answers end even if the main thread uses the processor. */
export const maximumBlockedTime = 30_000;

/** Multicast groups of one socket, the time that joining takes at once, and the pause after it. */
export const groupsPerSocket = 500;
export const joinSlice = 5;
export const joinPause = 5;

/** Time after which a group that the kernel refused is joined again. */
export const joinRetryInterval = 10_000;

/** Octets of the receive buffer of a packet socket. Frames wait there during a stall. */
export const receiveBufferBytes = 4_194_304;

/** Octets of events about network interfaces that may wait, and events that are read before frames get their turn. */
export const linkEventBytes = 1_048_576;
export const linkEventsPerTurn = 64;

/** Frames that are read from one socket before timers get their turn. */
export const framesPerTurn = 256;

/** Time between two attempts to open a socket of an interface that is gone. */
export const reopenInterval = 1_000;
