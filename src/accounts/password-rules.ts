/** Which passwords are refused although they are long enough, because they are among the first that are tried. */

/** What a new password must not be. */
export const GUESSABLE =
  'the username, a common password or a repetition, with any digits and signs, or digits and signs alone'

export function isGuessable(password: string, username: string): boolean {
  const text = password.normalize('NFKC').toLowerCase()
  const name = lettersOf(username.normalize('NFKC').toLowerCase())
  // As in `p@ssw0rd1`, with a sign or a digit for a letter that looks like it.
  const letterOf = (sign: string) => LETTERS[SIGNS.indexOf(sign)] ?? sign
  const spelled = text.replace(/\P{L}+$/u, '').replaceAll(/[@013457$]/g, letterOf)
  return [text, spelled].map(lettersOf).some(letters => {
    const unit = unitOf(letters)
    return unit.length < 3 || unit === name || commonPasswords.has(unit) || commonPasswords.has(letters)
  })
}

/** The letters look like the signs, in this order. */
const [SIGNS, LETTERS] = ['@013457$', 'aoieasts']

function lettersOf(text: string): string {
  return text.replaceAll(/\P{L}+/gu, '')
}

/** What a text repeats; itself if it repeats nothing. */
function unitOf(text: string): string {
  return /^(.+?)\1+$/u.exec(text)?.[1] ?? text
}

/**
 * What the commonest passwords of twelve characters and more are made of, in published lists of leaked ones: these words and
 * phrases, once or repeated, with digits and signs around them. In lower case, letters alone.
 */
const commonPasswords: ReadonlySet<string> = new Set(
  `
  abc abcd abcdefgh abcdefghij abcdefghijkl abcdefghijklmnopqrstuvwxyz asdf asdfghjkl qazwsx qazwsxedc qweasdzxc
  qwertyuiop qwertzuiop zxcvbnm
  access admin administrator adminadmin adminpassword adminroot alexander alexandra amanda america andrea
  andrew angel angela anthony apple arsenal ashley austin azerty azertyuiop babyblue babygirl babygurl bailey barcelona
  baseball basketball batman beautiful benfica benjamin bestfriend bestfriends bestfriendsforever blah
  bonjour brandon brasil bubbles buster butterfly caroline celtic changeit changeme changemenow changethis charlie chelsea
  chocolate christian christina christopher computer contrasena correcthorsebatterystaple cowboys daniel database default
  defaultpassword dolphin dou dragon dragonball elephant elizabeth facebook family ferrari fernando flower football
  footballfootball forever freedom friends friendsforever friendship geheim gemini ginger goldfish godisgood godisgreat
  godislove golden google grandma guest hannah hannahmontana happy happybirthday harley harrypotter haslo hello hellohello
  hellokitty helloworld hockey hunter iamthebest ichliebedich iloveme ilovemusic ilovemydog ilovemyfamily ilovemymom
  ilovemymother ilovemyself ilovepink iloveu iloveyou iloveyoubaby iloveyouforever iloveyoumom iloveyousomuch
  imissyou inlove install internet iverson jasmine jennifer jessica jesus jesuschrist jesusislord jesuslovesme jesussaves
  jetaime johncena jonathan jordan joseph joshua junior justinbieber keepout killer kimberly letmein letmeinnow letmeinplease
  linkinpark liverpool liverpoolfc lockstep lockstepadmin lockstepdemo lockstepuser login logitech london love lovely loveme loveyou maggie magic manchester
  manchesterunited marina marseille master matrix matthew mercedes michael michelle microsoft minecraft monkey monster
  mother motdepasse mustang mylove mypass mypassword mysecret mysecretpassword myspace naruto natalie nathan newpassword newyork nicholas
  nicole nintendo nirvana nopassword norealpassword nothing oracle orange parola pass passpass passphrase passpassword
  passw passwd passwort passwortpasswort password passwordone passwordpassword patricia patrick peanut pepper
  playboy pokemon portugal postgres princess private purple qwerty qwert qwertz rainbow raspberry realmadrid rebecca
  richard robert rockstar rockyou ronaldo root rootroot samantha samsung sandra savannah schalke schatz scooter secret
  secretpassword security senha sergio server shadow shannon silver simple skateboard slipknot snoopy soccer softball
  somepassword something spiderman spongebob startrek starwars stephanie strawberry sublime summer sunflower sunshine
  superman superstar supersecret supersecretpassword support sweetheart swordfish system target teamo temp temporary temppassword tequiero
  test tester testing testpassword testtest thebest theone thisisapassword thisismypassword thisispassword thomas tigger tinkerbell
  topsecret training trustno trustnoone twilight user username vanessa verysecret victoria wachtwoord washington
  wasd welcome welcomehome welcometo whatever whoknows william windows winner winston winter xbox yankees yellow yourname
  yourpassword zaqwsx zaqxsw
  `
    .trim()
    .split(/\s+/),
)
