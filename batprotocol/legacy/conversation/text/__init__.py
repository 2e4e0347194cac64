"""What may be said when in text: how the Batsims of 2015 to 2017 read what a scheduler says, and what they abort on."""
