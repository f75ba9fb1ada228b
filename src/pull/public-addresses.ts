import { BlockList, isIPv4, isIPv6 } from 'node:net'
import { networkInterfaces } from 'node:os'

/**
 * Whether an address is one of the public internet, by the registries of IANA for special purposes. What is not known to be public
 * is not, and neither is a form of IPv6 that leads to another address.
 */
export function isPublic(address: string): boolean {
  if (isIPv4(address)) return !special.check(address)
  return isIPv6(address) && global.check(address, 'ipv6') && !special.check(address, 'ipv6')
}

/** Whether an address is one of this machine, which may be public. */
export function isOwn(address: string): boolean {
  const own = new BlockList()
  for (const known of Object.values(networkInterfaces()).flatMap(addresses => addresses ?? [])) {
    own.addAddress(known.address, known.family === 'IPv4' ? 'ipv4' : 'ipv6')
  }
  return own.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')
}

const SPECIAL_IPV4 = [
  '0.0.0.0/8', // this network
  '10.0.0.0/8', // private
  '100.64.0.0/10', // carrier-grade translation
  '127.0.0.0/8', // loopback
  '168.63.129.16/32', // the platform of a cloud, at a public address
  '169.254.0.0/16', // link-local, including the metadata of clouds
  '172.16.0.0/12', // private
  '192.0.0.0/24', // protocol assignments
  '192.0.2.0/24', // documentation
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16', // private
  '198.18.0.0/15', // benchmarking
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, broadcast
]

/** Translations of public IPv4 addresses are public: in networks without IPv4, names of other servers have only these. */
const NAT64 = '64:ff9b::'

/** Of IPv6 only these are public, without those that follow. */
const GLOBAL_IPV6 = ['2000::/3', `${NAT64}/96`]

const SPECIAL_IPV6 = [
  '2001::/23', // protocol assignments, including Teredo and benchmarking
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4
  '3fff::/20', // documentation
]

const global = new BlockList()
const special = new BlockList()
for (const network of GLOBAL_IPV6) add(global, network)
for (const network of [...SPECIAL_IPV4, ...SPECIAL_IPV6]) add(special, network)
for (const network of SPECIAL_IPV4) {
  const [address = '', bits] = network.split('/')
  add(special, `${NAT64}${address}/${96 + Number(bits)}`)
}

function add(list: BlockList, network: string) {
  const [address = '', bits] = network.split('/')
  list.addSubnet(address, Number(bits), isIPv4(address) ? 'ipv4' : 'ipv6')
}
